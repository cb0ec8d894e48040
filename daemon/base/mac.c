/*
 * mac: see mac.h.
 */
#include "daemon/base/mac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#define KEY_MAX 64

bool
mac_make(const char *purpose, const char *secret, const void *text, size_t n, char out[MAC_DIGITS])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	char key[KEY_MAX], digits[MAC_DIGITS + 1];
	unsigned int length = 0;
	int bytes = snprintf(key, sizeof key, "%s %s", purpose, secret);

	if (bytes < 0 || (size_t)bytes >= sizeof key ||
		!HMAC(EVP_sha256(), key, bytes, text, n, sum, &length) || length < MAC_DIGITS / 2)
		return false;
	for (size_t i = 0; i < MAC_DIGITS / 2; i++)
		snprintf(digits + 2 * i, 3, "%02x", sum[i]);
	memcpy(out, digits, MAC_DIGITS);
	return true;
}

bool
mac_is(const char *purpose, const char *secret, const void *text, size_t n, const char *given)
{
	char code[MAC_DIGITS];

	return mac_make(purpose, secret, text, n, code) && CRYPTO_memcmp(code, given, MAC_DIGITS) == 0;
}
