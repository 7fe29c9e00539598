# Runs a hub: docker run -v "$PWD:/hub:ro" … See docs/hub-operations.md, "Run it in a container".
FROM node:22-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --ignore-scripts && npm pack --pack-destination /tmp && mv /tmp/*.tgz /tmp/operations.tgz

FROM node:22-slim
# In the root, so that modules in /hub find the package.
WORKDIR /
COPY --from=build /tmp/operations.tgz /tmp/operations.tgz
RUN npm install --no-save --ignore-scripts --no-audit --no-fund /tmp/operations.tgz \
  && rm -rf /tmp/operations.tgz /root/.npm \
  && mkdir /hub /state && chown node:node /state

# Tokens and trust are in /state, which is the only folder that the hub writes to.
ENV NODE_ENV=production XDG_STATE_HOME=/state PORT=4000
USER node
WORKDIR /hub
VOLUME /state
EXPOSE 4000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/node_modules/@alkdev/operations/dist/cli/main.js"]
CMD ["serve", "--config", "operations.config.ts"]
