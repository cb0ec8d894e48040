// The same package for `import`: both ways share one connection.
import holdfast from './index.js';

export const {
  Client,
  lock,
  lockAll,
  withLock,
  withLockAll,
  Lock,
  HoldfastError,
  LockBusyError,
  LockTimeoutError,
  LockLostError,
  LockRefusedError,
  DaemonUnreachableError,
} = holdfast;
