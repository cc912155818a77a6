import { type Command, Option } from 'commander';
import { ALERT_EVENTS } from '../../core/alerts/index.js';
import type { ScheduleAction } from '../triggers/schedule.js';
import { commandAdder, type OnEnd, withLogFormat, withSeveral } from './add-command.js';

/** Commands for automatic runs and their alerts: the Schedule, change notices, and targets of alerts. */
export function addTriggerCommands(program: Command, onEnd: OnEnd): void {
  const add = commandAdder(onEnd);
  const schedule = program.command('schedule').description('manage the nightly Schedule of a connection');
  for (const [action, text] of Object.entries(SCHEDULE) as [ScheduleAction, string][]) {
    const command = withSeveral(
      add<import('../triggers/schedule.js').ScheduleOptions>(
        schedule,
        action,
        text,
        async (options) => (await import('../triggers/schedule.js')).runSchedule(action, options),
        'several',
      ),
    ).option('--json', 'print one JSON object');
    if (action === 'pause' || action === 'resume')
      command.option('--note <text>', 'reason, shown with the Schedule');
  }

  withSeveral(
    add<import('../triggers/notify.js').NotifyOptions>(
      program,
      'notify',
      'send an example alert to each target and print the answer',
      async (options) => (await import('../triggers/notify.js')).runNotify(options),
      'several',
    ),
  )
    .option('--test', 'send the example; required, because people get it')
    .addOption(new Option('--event <event>', 'event of the example').choices(ALERT_EVENTS).default('failure'))
    .option('--json', 'print one JSON object');

  withLogFormat(
    add<import('../triggers/webhook.js').WebhookOptions>(
      program,
      'webhook',
      'receive change notices until SIGTERM and start incremental runs for them',
      async (options) => (await import('../triggers/webhook.js')).runWebhook(options),
      'several',
    ).option(
      '--listen <host:port>',
      'address for all connections (default: webhook.listen of each connection)',
    ),
  );
}

const SCHEDULE: Readonly<Record<ScheduleAction, string>> = {
  apply: 'create or update the Schedule from the configuration, and show changes',
  describe: 'show the next runs and the outcome of the last ones',
  trigger: 'start a run now, unless one is in progress',
  pause: 'pause the Schedule',
  resume: 'resume a paused Schedule',
  delete: 'delete the Schedule; published data stays',
};
