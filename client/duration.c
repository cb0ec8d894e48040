/*
 * duration: formats milliseconds for people, in the two largest units that matter.
 */
#include "client/duration.h"

#include <stdio.h>

const char *
duration_text(char out[DURATION_TEXT_MAX], int64_t ms)
{
	long long s = (long long)(ms < 0 ? 0 : ms) / 1000;

	if (s < 10) {
		(void)snprintf(out, DURATION_TEXT_MAX, "%.1fs", (double)(ms < 0 ? 0 : ms) / 1000.0);
	} else if (s < 60) {
		(void)snprintf(out, DURATION_TEXT_MAX, "%llds", s);
	} else if (s < 60 * 60) {
		(void)snprintf(out, DURATION_TEXT_MAX, "%lldm %llds", s / 60, s % 60);
	} else if (s < 24 * 60 * 60) {
		(void)snprintf(out, DURATION_TEXT_MAX, "%lldh %lldm", s / 3600, s / 60 % 60);
	} else {
		(void)snprintf(out, DURATION_TEXT_MAX, "%lldd %lldh", s / 86400, s / 3600 % 24);
	}
	return out;
}
