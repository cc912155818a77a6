/** The workflow bundle of a CommonJS application. `Worker.create` bundles it as any other file. */
export * from 'temporal-worktrack/workflows';
