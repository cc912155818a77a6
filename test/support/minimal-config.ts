/** The smallest configuration that works, as README.md shows it. */
export const MINIMAL_CONFIG = `# The configuration of temporal-worktrack. \`worktrack config schema\` prints every key there is.
connections:
  acme:                                        # any name; with one connection --connection may be left out
    baseUrl: https://tracker.example.com       # the service's address; /api/public/v2 is added
    apiKey: { env: WORKTRACK_API_KEY }         # or { file: /run/secrets/worktrack }; never the key itself
    lake:
      url: s3://company-lake/worktrack         # or file:///absolute/folder
      region: eu-central-1
    # resources: [projects, tasks, time-entries, calendar-entries]    # the default
`;
