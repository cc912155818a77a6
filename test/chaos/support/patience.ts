import { WorkflowFailedError } from '@temporalio/client';

const PATIENCE_MS = 240_000;

/** Asks a server again and again while it is away. @param again whether an error only says that it is */
export async function patiently<T>(
  ask: () => Promise<T>,
  again: (error: unknown) => boolean = (error) => !(error instanceof WorkflowFailedError),
): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`no end within ${PATIENCE_MS} ms`)),
        Math.max(deadline - Date.now(), 0),
      );
    });
    try {
      return await Promise.race([ask(), late]);
    } catch (error) {
      if (!again(error) || Date.now() >= deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    } finally {
      clearTimeout(timer);
    }
  }
}
