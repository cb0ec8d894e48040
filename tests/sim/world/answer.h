/*
 * answer: builds redisReply trees as a master would send them. freeReplyObject() frees them.
 */
#ifndef SIM_ANSWER_H
#define SIM_ANSWER_H

#include "proto/slice.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

/* While it is on, answers are made in memory that is reused when it is turned on again. They are not freed,
 * and must not be used after that. */
void answer_scratch(bool on);

redisReply *answer_int(int64_t n);
redisReply *answer_nil(void);
redisReply *answer_text(struct slice text);
redisReply *answer_status(const char *text);
redisReply *answer_error(const char *text);
redisReply *answer_number(double n); /* as a bulk string, as Redis writes scores */
redisReply *answer_array(size_t n);  /* elements are NULL: fill them with answer_set() */
void answer_set(redisReply *array, size_t i, redisReply *element);

#endif
