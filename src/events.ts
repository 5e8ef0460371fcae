import { invalidArgument } from "./errors.ts";

/** Receives one event; what it returns is ignored, save that a rejected promise is reported. */
export type Listener<T> = (event: T) => unknown;

/** A typed emitter. `EventMap` maps each event's name to what its listeners receive. */
export interface Events<EventMap extends object> {
  /**
   * Calls `listener` at each event of this name, after those registered before it. Returns the
   * function that ends this registration. Throws LH002 where `listener` is no function.
   */
  on<Name extends keyof EventMap>(name: Name, listener: Listener<EventMap[Name]>): () => void;

  /** As `on`, for the next event only. */
  once<Name extends keyof EventMap>(name: Name, listener: Listener<EventMap[Name]>): () => void;

  /** Ends every registration of `listener` for this name; none is fine. */
  off<Name extends keyof EventMap>(name: Name, listener: Listener<EventMap[Name]>): void;

  /**
   * Calls the listeners in the order of their registration, and never throws. One that is
   * unsubscribed meanwhile is not called any more, one that is added meanwhile not yet.
   */
  emit<Name extends keyof EventMap>(name: Name, event: EventMap[Name]): void;

  /** Whether anybody listens: where nobody does, the event need not be made. */
  heard(name: keyof EventMap): boolean;
}

interface Registration {
  // biome-ignore lint/suspicious/noExplicitAny: each name has its own event type; `on` checks it.
  readonly listener: Listener<any>;
  readonly once: boolean;
  active: boolean;
}

/**
 * Makes an emitter whose listeners can't hurt it: what a listener throws, or rejects with, goes to
 * `onListenerError` and nowhere else, so that an event never changes a job's outcome. What
 * `onListenerError` itself throws is dropped.
 */
export function createEvents<EventMap extends object>(
  onListenerError: (error: unknown, name: keyof EventMap) => unknown,
): Events<EventMap> {
  const registrations = new Map<keyof EventMap, readonly Registration[]>();
  const listenersOf = (name: keyof EventMap) => registrations.get(name) ?? [];

  function remove(name: keyof EventMap, unwanted: (registration: Registration) => boolean): void {
    // A new array each time: an emit that is under way goes on with the one that it began with.
    const kept = listenersOf(name).filter((registration) => {
      if (unwanted(registration)) registration.active = false;
      return registration.active;
    });
    if (kept.length > 0) registrations.set(name, kept);
    else registrations.delete(name);
  }

  function add(name: keyof EventMap, listener: Registration["listener"], once: boolean) {
    if (typeof listener !== "function") throw invalidArgument("listener", listener, "a function");
    const registration: Registration = { listener, once, active: true };
    registrations.set(name, [...listenersOf(name), registration]);
    return () => remove(name, (candidate) => candidate === registration);
  }

  return {
    on: (name, listener) => add(name, listener, false),
    once: (name, listener) => add(name, listener, true),
    off: (name, listener) => remove(name, (candidate) => candidate.listener === listener),
    emit(name, event) {
      for (const registration of listenersOf(name)) {
        if (!registration.active) continue;
        // Before the call, or a listener that emits the same event again would run twice.
        if (registration.once) remove(name, (candidate) => candidate === registration);
        callSafely(
          () => registration.listener(event),
          (error) => callSafely(() => onListenerError(error, name), ignore),
        );
      }
    },
    heard: (name) => registrations.has(name),
  };
}

function ignore(): void {}

/**
 * Calls code of the user's whose failure must not matter: never throws, and leaves no rejection
 * unhandled. `onError` receives what `work` throws now or rejects with later; it must not throw.
 */
export function callSafely(work: () => unknown, onError: (error: unknown) => void): void {
  try {
    const result = work();
    if (result !== undefined) Promise.resolve(result).then(undefined, onError);
  } catch (error) {
    onError(error);
  }
}
