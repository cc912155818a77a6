{{/* Labels of what belongs to a component. Call with a dict of `root` and `component`. */}}
{{- define "worktrack.labels" -}}
app.kubernetes.io/name: worktrack
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* A name of this release, such as `worktrack-worker`. */}}
{{- define "worktrack.name" -}}
{{ printf "%s-%s" .root.Release.Name .component | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* What all pods share: an unprivileged user, a configuration, a secret, and no access to the API of Kubernetes. */}}
{{- define "worktrack.pod" -}}
serviceAccountName: {{ include "worktrack.name" . }}
automountServiceAccountToken: false
# The image runs as any user. On OpenShift, which chooses it, remove fsGroup.
securityContext:
  runAsNonRoot: true
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
volumes:
  - name: config
    configMap: { name: {{ include "worktrack.name" (dict "root" .root "component" "config") }} }
  - name: secret
    secret: { secretName: {{ .root.Values.secret }}, defaultMode: 0440 }
  - name: tmp
    emptyDir: {}
{{- end }}

{{/* What all containers share. */}}
{{- define "worktrack.container" -}}
image: {{ printf "%s:%s@%s" .Values.image.repository .Chart.AppVersion .Values.image.digest }}
env:
  - { name: TEMPORAL_ADDRESS, value: {{ .Values.temporal.address | quote }} }
  - { name: TEMPORAL_NAMESPACE, value: {{ .Values.temporal.namespace | quote }} }
{{- with .Values.env }}
{{ toYaml . | indent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: config, mountPath: /etc/worktrack, readOnly: true }
  - { name: secret, mountPath: /run/secrets/worktrack, readOnly: true }
  - { name: tmp, mountPath: /tmp }
{{- end }}
