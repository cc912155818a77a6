"""Checks documents against their schemas. Reads a JSON object from stdin: `compose` is a list of documents for the schema
in the file `composeSchema`, `kubernetes` a list of objects for the API version `kubernetesVersion`. Prints a list of errors
as JSON.
"""
import json
import sys

import jsonschema
import kubernetes_validate

given = json.load(sys.stdin)
errors = []
with open(given["composeSchema"], encoding="utf-8") as file:
    compose = jsonschema.validators.validator_for(schema := json.load(file))(schema)
for document in given["compose"]:
    for error in compose.iter_errors(document):
        errors.append(f"compose {'.'.join(map(str, error.absolute_path))}: {error.message}")
for document in given["kubernetes"]:
    try:
        kubernetes_validate.validate(document, given["kubernetesVersion"], strict=True)
    except kubernetes_validate.ValidationError as error:
        errors.append(f"{document.get('kind')} {'.'.join(map(str, error.path))}: {error.message}")
print(json.dumps(errors))
