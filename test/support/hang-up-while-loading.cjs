// Sends SIGHUP to the process when it begins to load the commands.
const Module = require('node:module');
const load = Module._load;
Module._load = function (request, ...rest) {
  if (/cli\/run\.cjs$/.test(request)) process.kill(process.pid, 'SIGHUP');
  return load.call(this, request, ...rest);
};
