/**
 * Locks across processes and hosts, kept by the daemon `holdfastd`. All times are in milliseconds.
 *
 * A lock is held until `unlock()`, or until the process ends. The daemon renews it. If it is lost while it is held,
 * `lock.signal` is aborted with a `LockLostError`. What happens is told on channels of `node:diagnostics_channel`: README.md lists them.
 */

declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
    readonly dispose: unique symbol;
  }
}

export interface LockOptions {
  /**
   * How long to wait at most; 0 tries once. Without it the rule of the daemon's configuration for this name counts, and if
   * there is none, the wait has no end. More than 365 days, also `Infinity`, count as 365 days; for any other time they
   * are a RangeError, and so is a negative wait. A wait of a few milliseconds may end with the code `NOMASTER`: no master has answered yet.
   */
  wait?: number | undefined;
  /** Ends the wait, with the reason of the signal. It does nothing to a lock that is held. */
  signal?: AbortSignal | undefined;
  /** For reading, beside others that are shared. */
  shared?: boolean | undefined;
  /** The lock is a semaphore of this many permits, 1 to 10000, of which it takes one, or as many as `permits` says. */
  limit?: number | undefined;
  /** How many permits are taken at once; only with `limit`. */
  permits?: number | undefined;
  /** The lock ends after this time, as lost with the reason `lease`, unless `extend()` moves the end. */
  lease?: number | undefined;
  /** The lock ends after this time, as lost with the reason `maxhold`. `extend()` does not move this end. */
  maxHold?: number | undefined;
  /**
   * Lets a lock be taken again: a lock with the name and the owner of one that this thread holds is granted at once, with the
   * same token, and its other options do not count. The last `unlock()` gives it back.
   */
  owner?: string | undefined;
  /** A remark that `holdfast show` prints, of at most 256 bytes. */
  why?: string | undefined;
  /** Is called when the wait has lasted for a second, and then every five. It asks the daemon then, and only then. */
  onWait?: ((info: Waiting) => void) | undefined;
}

/** Who has a lock: the oldest hold, if several have it. What is not known is empty, 0, or -1 for `uid`. */
export interface Holder {
  /** The name of its connection. */
  readonly client: string;
  /** The host of the daemon through which it is held; empty: it is the daemon of this program. */
  readonly host: string;
  /** `unix`, or where it connects from. */
  readonly address: string;
  readonly pid: number;
  readonly uid: number;
  readonly token: number;
  readonly why: string;
  /** For how long it has been held, when the daemon was asked. */
  readonly heldFor: number;
  /** The holder is gone, and the name is kept until that one surely knows. */
  readonly withheld: boolean;
}

/** A wait that lasts. */
export interface Waiting {
  /** The name that is waited for. */
  readonly name: string;
  /** Null: nobody has it, or the daemon does not say. */
  readonly holder: Holder | null;
  /** The place in the daemon's queue, from 1; null: it is not known, or beyond those that the package looks at. */
  readonly position: number | null;
  readonly waited: number;
}

/** A lock that is held, or several that were taken together. */
export interface Lock {
  /** The name; of several, the first. */
  readonly name: string;
  readonly names: string[];
  /**
   * The fencing token: a number that is greater for each later holder, and below 2^53. A store that gets it with each write can
   * refuse one that is smaller than the greatest it has seen. Of several locks it is that of the first name.
   */
  readonly token: number;
  /** The tokens in the order of the names. */
  readonly tokens: number[];
  /** Aborted with a `LockLostError` if the lock is lost, and only then. Pass it to all that the lock protects. */
  readonly signal: AbortSignal;
  /** Whether the lock is surely held now. */
  readonly held: boolean;
  /** Whole milliseconds for which the lock is surely held, from the moment of the call. It sends nothing. 0: it is not held. */
  validFor(): number;
  /**
   * Throws the `LockLostError` if the lock is known to be lost. It sends nothing. Right after the process stood still, nobody knows
   * yet: `held` is false then, and `check()` says what has become of the lock.
   */
  throwIfLost(): void;
  /**
   * Fulfilled if the lock is surely held now, rejected with the `LockLostError` if it is not. It sends nothing, so a loop may
   * call it at each step. If the process stood still beyond the time that it was told, `check()` waits until the daemon has
   * answered, a second at most.
   */
  check(): Promise<void>;
  /** Lets a lock with a `lease` end this time from now, sooner or later than before. */
  extend(ms: number): Promise<void>;
  /** Turns an exclusive lock into a shared one, without a moment in between in which it is free. */
  downgrade(): Promise<void>;
  /**
   * Gives the lock back. Rejected with `LockLostError` if it had been lost before: work that it should have protected may
   * have met other work. Calling it again does nothing, and returns the same promise. If the daemon does not answer within five
   * seconds, the package goes on trying.
   */
  unlock(): Promise<void>;
  /** `unlock()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
  /**
   * For `using`: begins `unlock()`, and does not wait for it. Throws the `LockLostError` if the lock is known to be lost. A loss that only
   * the answer of the daemon tells is not thrown: where work must not count then, `await using` is needed.
   */
  [Symbol.dispose](): void;
}

export const Lock: { readonly prototype: Lock };

export interface ClientOptions {
  /** For how long the daemon keeps locks and places in queues if the connection is cut; 10000. */
  grace?: number | undefined;
  /** For how long a daemon may be away when a lock is asked for; 5000. */
  connectTimeout?: number | undefined;
}

/** The locks of one daemon. All clients of an address share one connection; there is nothing to close. */
export class Client {
  /**
   * @param url A path, `unix:PATH`, `host:port`, `tcp://host:port` or `redis://user:password@host:port`. Without it
   * `$HOLDFAST_URL` counts, then the socket of the user's own daemon if there is one, then `/run/holdfast/holdfast.sock`:
   * it chooses anew for each lock until a daemon has answered, and stays there.
   * @throws TypeError if it is none of these.
   */
  constructor(url?: string, options?: ClientOptions);

  /**
   * Takes the lock, or waits for it. Rejected with `LockBusyError`, `LockTimeoutError`, `LockRefusedError`,
   * `DaemonUnreachableError`, or the reason of `options.signal`: then nothing is held, and nothing waits.
   */
  lock(name: string, options?: LockOptions): Promise<Lock>;

  /** Takes the locks of all names, or none, in an order that cannot deadlock. `wait` bounds all together. */
  lockAll(names: readonly string[], options?: LockOptions): Promise<Lock>;

  /**
   * Calls `work` while the lock is held, and gives it back whatever happens. The result is that of `work`. If the lock is
   * lost, `work` goes on until it ends by itself, and the promise is rejected: with the error of `work`, or else with
   * `LockLostError`. An `AbortError` that comes from `lock.signal` counts as the `LockLostError` that is its cause.
   */
  withLock<T>(name: string, work: (lock: Lock) => T | PromiseLike<T>): Promise<T>;
  withLock<T>(name: string, options: LockOptions, work: (lock: Lock) => T | PromiseLike<T>): Promise<T>;

  /** As `withLock`, with all names. */
  withLockAll<T>(names: readonly string[], work: (lock: Lock) => T | PromiseLike<T>): Promise<T>;
  withLockAll<T>(names: readonly string[], options: LockOptions, work: (lock: Lock) => T | PromiseLike<T>): Promise<T>;
}

/** `Client.lock` of the default daemon. */
export const lock: Client['lock'];
/** `Client.lockAll` of the default daemon. */
export const lockAll: Client['lockAll'];
/** `Client.withLock` of the default daemon. */
export const withLock: Client['withLock'];
/** `Client.withLockAll` of the default daemon. */
export const withLockAll: Client['withLockAll'];

/** The base of all errors of this package. */
export class HoldfastError extends Error {
  /** One word: BUSY, TIMEOUT, LOST, UNREACHABLE, or that of the daemon. */
  readonly code: string;
  /** Whether the same call may succeed later, so that a program may try again. */
  readonly transient: boolean;
  protected constructor(...never: never[]);
}

/** Another locker has the lock. */
export class LockBusyError extends HoldfastError {
  /** The name of the lock. */
  readonly lock: string;
  /** Who has it. Null: it was tried once, or the daemon does not say. */
  readonly holder: Holder | null;
}

/** Another locker had the lock for the whole of `wait`. */
export class LockTimeoutError extends LockBusyError {}

/** The lock was held and is not any more: stop using what it protects. */
export class LockLostError extends HoldfastError {
  /** The name of the lock. */
  readonly lock: string;
  /** The fencing token of the lost hold. */
  readonly token: number;
  /**
   * One word: `expired`, `taken`, `refused`, `lease`, `maxhold`, `broken` or `cloned`, as the daemon says; `unreachable`: the
   * daemon could not be asked before the announced deadline; `session`: the daemon does not know this process any more.
   */
  readonly reason: string;
}

/**
 * The daemon cannot grant the lock, or the request is wrong. `code` is its word, as `NOMASTER`, `text` its explanation. It is
 * transient if the code is NOMASTER, GUARD, MASTERERR, DRAINING, LIMIT or DEADLOCK, but for a name that is too long.
 */
export class LockRefusedError extends HoldfastError {
  readonly text: string;
}

/** No daemon answers at the address. Not transient: this user may not use the socket, or what answers is no holdfastd. */
export class DaemonUnreachableError extends HoldfastError {}
