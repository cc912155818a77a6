import { WorkflowFailedError } from '@temporalio/client';

const MAX_WAIT_MS = 240_000;

/** Repeats a request while the server is down. @param again whether an error only means that the server is down */
export async function retryWhileDown<T>(
  ask: () => Promise<T>,
  again: (error: unknown) => boolean = (error) => !(error instanceof WorkflowFailedError),
): Promise<T> {
  const deadline = Date.now() + MAX_WAIT_MS;
  for (;;) {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`the request did not succeed within ${MAX_WAIT_MS} ms`)),
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
