# syntax=docker/dockerfile:1
# The worker as an image: docker build -t temporal-worktrack .
#   docker run -v ./worktrack.yaml:/etc/worktrack/worktrack.yaml:ro --env-file worktrack.env temporal-worktrack
# Any other command goes behind the image's name: docker run … temporal-worktrack doctor
# The base is pinned by the digest of its index of platforms. For a newer one:
#   docker buildx imagetools inspect node:22-bookworm-slim

FROM node:22-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No package needs its install script.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY activities ./activities
COPY src ./src
COPY workflows ./workflows
COPY test/support/build.mjs test/support/bundle-cli.mjs ./test/support/
RUN npm run build
# Not --omit=dev: Temporal's SDK is a peer dependency and is among those for development too, with which it would go. The
# packages for traces are optional ones, which stay here as well.
RUN npm pkg delete devDependencies peerDependenciesMeta && npm prune --ignore-scripts
# Any user may run the image, and files can come from a checkout that only its owner can read.
RUN chmod -R a+rX package.json node_modules dist

FROM node:22-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c
# Certificates: the native client of the SDK reads those of the system.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
# The command on PATH, as the messages print it: docker run … temporal-worktrack status, or docker exec … worktrack status.
RUN ln -s /app/dist/src/cli/main.js /usr/local/bin/worktrack
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --chmod=0644 LICENSE README.md ./
# MALLOC_ARENA_MAX: threads of the native client share memory, which makes a busy worker 30 MiB smaller.
# NODE_OPTIONS: without a limit, V8 lets garbage grow to four times what is in use.
ENV NODE_ENV=production WORKTRACK_CONFIG=/etc/worktrack/worktrack.yaml MALLOC_ARENA_MAX=2 \
  NODE_OPTIONS=--max-old-space-size=1024
# The user `node`, as a number, which Kubernetes can check (runAsNonRoot). Any other user works, too, with `docker run --user`
# or as OpenShift chooses it: the worker writes no files of its own.
USER 1000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8081/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Directly and not through npm or a shell: signals have to reach the worker. `docker stop --time 60` lets it drain.
ENTRYPOINT ["node", "/app/dist/src/cli/main.js"]
CMD ["worker", "--log-format", "json", "--health", "127.0.0.1:8081"]
