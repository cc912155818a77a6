import type { Dispatcher } from 'undici';

/**
 * Creates a dispatcher that calls `onSend` just before the first byte of a request is handed to a connection. Before
 * that call, no part of the request has left the process. After it, the service may execute the request, even if the
 * connection breaks. undici calls it again if it writes the same request to another connection.
 */
export function watchSends(dispatcher: Dispatcher, onSend: () => void): Dispatcher {
  return dispatcher.compose(
    (dispatch) => (options, handler) => dispatch(options, new SendWatch(handler, onSend)),
  );
}

type Handler = Dispatcher.DispatchHandler;
type Arguments<Name extends keyof Handler> = Parameters<NonNullable<Handler[Name]>>;

/** Forwards all events to the request's own handler. */
class SendWatch implements Handler {
  readonly #handler: Handler;
  readonly #onSend: () => void;

  constructor(handler: Handler, onSend: () => void) {
    this.#handler = handler;
    this.#onSend = onSend;
  }

  onRequestStart(...[controller, context]: Arguments<'onRequestStart'>): void {
    this.#handler.onRequestStart?.(controller, context);
    // A request that was aborted while it waited for a connection is dropped here without being sent.
    if (!controller.aborted) this.#onSend();
  }

  onRequestUpgrade(...args: Arguments<'onRequestUpgrade'>): void {
    this.#handler.onRequestUpgrade?.(...args);
  }

  onResponseStart(...args: Arguments<'onResponseStart'>): void {
    this.#handler.onResponseStart?.(...args);
  }

  onResponseData(...args: Arguments<'onResponseData'>): void {
    this.#handler.onResponseData?.(...args);
  }

  onResponseEnd(...args: Arguments<'onResponseEnd'>): void {
    this.#handler.onResponseEnd?.(...args);
  }

  onResponseError(...args: Arguments<'onResponseError'>): void {
    this.#handler.onResponseError?.(...args);
  }
}
