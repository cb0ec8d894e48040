/*
 * check_tls: what a peer may send behind the handshake.
 */
#include "daemon/base/tls.h"

#include "daemon/base/tls_dates.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A server, and a client whose records wait in memory until send_records(): the last ones of the handshake
 * are there already. */
static struct {
	struct tls_context *context;
	struct tls *server;
	SSL_CTX *client_context;
	SSL *client;
	BIO *records;
	int fd[2];
} ends;

static void
write_certificate(const char *path, long ends_s)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *own = X509_new();
	X509_gmtime_adj(X509_getm_notBefore(own), -3600);
	X509_gmtime_adj(X509_getm_notAfter(own), ends_s);
	ck_assert_int_eq(X509_set_pubkey(own, key), 1);
	ck_assert_int_gt(X509_sign(own, key, EVP_sha256()), 0);
	FILE *file = fopen(path, "w");
	ck_assert(file && PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
	ck_assert(PEM_write_X509(file, own) == 1 && fclose(file) == 0);
	X509_free(own);
	EVP_PKEY_free(key);
}

static void
load_context(void)
{
	char why[TLS_WHY_MAX], path[] = "/tmp/check_tls.XXXXXX";
	int fd = mkstemp(path);
	ck_assert(fd >= 0 && close(fd) == 0);
	write_certificate(path, 3600);
	ends.context = tls_context_new(TLS_SERVER, &(struct tls_settings){.certificate = path, .key = path});
	ck_assert_msg(ends.context && tls_context_load(ends.context, why), "%s", why);
	ck_assert_int_eq(unlink(path), 0);
}

/* The first message of the handshake is 25 kB long, in records of 512 bytes. */
static void
send_many_records(SSL *ssl)
{
	static unsigned char names[100 * 251];
	memset(names, 250, sizeof names);
	ck_assert_int_eq(SSL_set_alpn_protos(ssl, names, sizeof names), 0);
	ck_assert_int_eq(SSL_set_max_send_fragment(ssl, 512), 1);
}

static void
setup(void)
{
	char got[100];
	load_context();
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.fd), 0);
	ends.server = tls_new(ends.context, ends.fd[0], NULL);
	ends.client_context = SSL_CTX_new(TLS_client_method());
	ends.client = SSL_new(ends.client_context);
	ends.records = BIO_new(BIO_s_mem());
	ck_assert(ends.server && ends.client && ends.records && SSL_set_fd(ends.client, ends.fd[1]) == 1);
	send_many_records(ends.client);
	ck_assert_int_eq(SSL_connect(ends.client), -1);
	ck_assert_int_eq(tls_read(ends.server, got, sizeof got), -1);
	ck_assert_int_eq(errno, EAGAIN);
	SSL_set0_wbio(ends.client, ends.records);
	ck_assert_int_eq(SSL_connect(ends.client), 1);
}

static void
teardown(void)
{
	SSL_free(ends.client);
	SSL_CTX_free(ends.client_context);
	tls_free(ends.server);
	tls_context_free(ends.context);
	close(ends.fd[0]);
	close(ends.fd[1]);
}

static void
new_keys(int count)
{
	for (int i = 0; i < count; i++) {
		ck_assert_int_eq(SSL_key_update(ends.client, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
		ck_assert_int_eq(SSL_do_handshake(ends.client), 1);
	}
}

static void
send_records(void)
{
	char *bytes;
	long n = BIO_get_mem_data(ends.records, &bytes);
	ck_assert_int_eq(send(ends.fd[1], bytes, (size_t)n, 0), n);
	ck_assert_int_eq(BIO_reset(ends.records), 1);
}

static void
expect_data(const char *data)
{
	char got[100];
	ck_assert_int_eq(SSL_write(ends.client, data, (int)strlen(data)), (int)strlen(data));
	send_records();
	ck_assert_int_eq(tls_read(ends.server, got, sizeof got), (ssize_t)strlen(data));
	ck_assert_int_eq(memcmp(got, data, strlen(data)), 0);
}

START_TEST(a_peer_may_take_new_keys)
{
	char got[100];
	for (int i = 0; i < 20; i++) {
		new_keys(10);
		expect_data("PING\r\n");
	}
	for (int i = 0; i < 20; i++) {
		new_keys(10);
		send_records();
		ck_assert_int_eq(tls_read(ends.server, got, sizeof got), -1);
		ck_assert_int_eq(errno, EAGAIN);
	}
	expect_data("PONG\r\n");
}
END_TEST

/* Without a bound a single tls_read() lasts for as long as they come. */
START_TEST(new_keys_without_an_end_are_the_end)
{
	char got[100];
	expect_data("PING\r\n");
	new_keys(100);
	ck_assert_int_eq(SSL_write(ends.client, "PING\r\n", 6), 6);
	send_records();
	ck_assert_int_eq(tls_read(ends.server, got, sizeof got), -1);
	ck_assert_int_eq(errno, EPROTO);
	ck_assert_str_eq(tls_why(ends.server), "TLS: 33 records without data");
	ck_assert_int_eq(tls_read(ends.server, got, sizeof got), -1);
	ck_assert_int_eq(errno, EPROTO);
	ck_assert_int_eq(tls_write(ends.server, "a", 1), -1);
	ck_assert_int_eq(errno, EPROTO);
}
END_TEST

/* The last bytes of the handshake and the new keys arrive together: one tls_read() takes both. */
START_TEST(new_keys_may_not_come_with_the_handshake_either)
{
	char got[100];
	new_keys(100);
	send_records();
	ck_assert(!tls_is_up(ends.server));
	ck_assert_int_eq(tls_read(ends.server, got, sizeof got), -1);
	ck_assert_int_eq(errno, EPROTO);
}
END_TEST

/* The latest refresh was at 1 ms. */
#define FRESH_MS 300000

START_TEST(what_a_server_has_read_counts_until_a_reload)
{
	static struct tls_dates dates;
	char paths[2][32] = {"/tmp/check_tls.XXXXXX", "/tmp/check_tls.XXXXXX"};
	int64_t now_s = (int64_t)time(NULL), ends_s, until[2];
	const char *file;
	for (int i = 0; i < 2; i++) {
		int fd = mkstemp(paths[i]);
		ck_assert(fd >= 0 && close(fd) == 0);
		write_certificate(paths[i], 1000);
	}
	ck_assert_uint_eq(tls_dates_next(&dates, 0, &file, &ends_s), 0);
	tls_dates_add(&dates, TLS_SERVER, paths[0]);
	tls_dates_add(&dates, TLS_CLIENT, paths[1]);
	tls_dates_add(&dates, TLS_CLIENT, paths[0]);
	ck_assert_uint_eq(dates.n, 2);
	tls_dates_refresh(&dates, 1, false);
	for (int i = 0; i < 2; i++) {
		write_certificate(paths[i], 5000);
	}
	tls_dates_refresh(&dates, FRESH_MS, false);
	ck_assert_int_lt(dates.list[1].ends_s, now_s + 2000);
	tls_dates_refresh(&dates, FRESH_MS + 1, false);
	size_t at = 0;
	for (int i = 0; i < 2; i++) {
		at = tls_dates_next(&dates, at, &file, &until[i]);
		ck_assert_uint_eq(at, (size_t)i + 1);
		ck_assert_str_eq(file, paths[i]);
	}
	ck_assert_uint_eq(tls_dates_next(&dates, at, &file, &ends_s), 0);
	ck_assert_int_lt(until[0], now_s + 2000);
	ck_assert_int_gt(until[1], now_s + 4000);
	/* A file that is just being replaced is not forgotten. */
	ck_assert_int_eq(unlink(paths[1]), 0);
	tls_dates_refresh(&dates, FRESH_MS + 2, true);
	ck_assert_uint_eq(dates.n, 2);
	ck_assert_int_eq(dates.list[1].ends_s, until[1]);
	write_certificate(paths[1], 9000);
	tls_dates_refresh(&dates, FRESH_MS + 3, true);
	ck_assert_int_gt(dates.list[1].ends_s, now_s + 8000);
	ck_assert_int_eq(unlink(paths[0]) | unlink(paths[1]), 0);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("tls", setup, teardown, a_peer_may_take_new_keys,
		new_keys_without_an_end_are_the_end, new_keys_may_not_come_with_the_handshake_either,
		what_a_server_has_read_counts_until_a_reload);
}
