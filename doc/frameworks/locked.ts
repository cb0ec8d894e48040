/* An interceptor of NestJS: see FRAMEWORKS.md. */
import { CallHandler, ExecutionContext, mixin, NestInterceptor, ServiceUnavailableException } from '@nestjs/common';
import * as hf from 'holdfast';
import { from, lastValueFrom } from 'rxjs';

export function Locked(name: (request: any) => string, options: hf.LockOptions = { wait: 500 }) {
  class Interceptor implements NestInterceptor {
    intercept(context: ExecutionContext, next: CallHandler) {
      const work = () => lastValueFrom(next.handle(), { defaultValue: undefined });
      return from(hf.withLock(name(context.switchToHttp().getRequest()), options, work).catch((error) => {
        throw error instanceof hf.LockBusyError ? new ServiceUnavailableException(error.message) : error;
      }));
    }
  }
  return mixin(Interceptor);
}
