/* Uses the interceptor of doc/frameworks in an application of NestJS, and prints what the test wants to see. */
import 'reflect-metadata';
import { Controller, Module, Param, Post, UseInterceptors } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import * as hf from 'holdfast';
import { Locked } from './locked';

@Controller('accounts')
class Accounts {
  @Post(':id')
  @UseInterceptors(Locked((request) => 'account/' + request.params.id))
  async close(@Param('id') id: string) {
    return { id, free: await hf.withLock('account/' + id, { wait: 0 }, () => true).catch(() => false) };
  }

  @Post(':id/fail')
  @UseInterceptors(Locked((request) => 'account/' + request.params.id))
  fail() {
    throw new Error('fails');
  }
}

@Module({ controllers: [Accounts] })
class Application {}

async function main() {
  const application = await NestFactory.create(Application, { logger: false });
  await application.listen(0, '127.0.0.1');
  const post = async (path: string) => {
    const answer = await fetch((await application.getUrl()) + path, { method: 'POST' });
    console.log(path, answer.status, await answer.text());
  };
  await post('/accounts/7');
  await post('/accounts/7/fail');
  await hf.withLock('account/7', { wait: 60_000 }, async () => {
    const answer = await fetch((await application.getUrl()) + '/accounts/7', { method: 'POST' });
    console.log('busy', answer.status);
  });
  await post('/accounts/7');
  await application.close();
}

void main();
