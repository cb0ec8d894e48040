/*
 * tls: see tls.h. A connection of OpenSSL reads and writes its socket through a BIO of ours: one recv() takes
 * all that a request needs, and a second one follows only if a record is not complete.
 */
#include "daemon/base/tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum file { FILE_CERTIFICATE, FILE_KEY, FILE_CA, FILE_CRL, FILES };

/* The most records behind the handshake that one tls_read() takes: alerts, tickets and new keys before the
 * data. A new key costs 14 us. */
#define TLS_RECORDS_MAX 32

/* What tells one state of a file from another. */
typedef int64_t stamp[4];

struct tls_context {
	unsigned users; /* connections, and the owner */
	enum tls_side side;
	char *path[FILES]; /* NULL: absent */
	char *name;
	BIO_METHOD *method;
	SSL_CTX *loaded; /* NULL: not yet */
	stamp stamps[FILES];
};

struct tls {
	SSL *ssl;
	struct tls_context *context;
	int fd;
	bool drained; /* the last read took all bytes that were there */
	bool ended;   /* and found the end */
	bool broken;  /* why is set */
	int records;  /* that came behind the handshake in this tls_read() */
	char why[TLS_WHY_MAX / 2];
};

/* ---- the files ---- */

/* False, for the caller to return. */
__attribute__((format(printf, 2, 3))) static bool
refuse(char *why, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	(void)vsnprintf(why, TLS_WHY_MAX, format, list);
	va_end(list);
	return false;
}

/* The reason of OpenSSL's latest error; empties its queue. */
static const char *
reason(void)
{
	unsigned long error = ERR_peek_last_error();
	const char *text = ERR_reason_error_string(error);
	ERR_clear_error();
	return text ? text : "unknown error";
}

static bool
stamps_take(const struct tls_context *context, stamp stamps[FILES], char *why)
{
	memset(stamps, 0, FILES * sizeof stamps[0]);
	for (int i = 0; i < FILES; i++) {
		const char *path = context->path[i];
		struct stat st;
		if (!path || strcmp(path, TLS_SYSTEM_CA) == 0) {
			continue;
		}
		if (stat(path, &st) != 0) {
			return refuse(why, "%s: cannot be read: %s", path, strerror(errno));
		}
		if (!S_ISREG(st.st_mode)) {
			return refuse(why, "%s: is no regular file: name a file with PEM", path);
		}
		stamps[i][0] = (int64_t)st.st_ino;
		stamps[i][1] = st.st_size;
		stamps[i][2] = st.st_mtim.tv_sec;
		stamps[i][3] = st.st_mtim.tv_nsec;
	}
	return true;
}

/* A key with a passphrase is refused; OpenSSL would ask for it at the terminal. */
static int
no_passphrase(char *out, int room, int writing, void *arg)
{
	(void)out, (void)room, (void)writing, (void)arg;
	return -1;
}

static bool
load_own(const struct tls_context *context, SSL_CTX *ssl, char *why)
{
	const char *certificate = context->path[FILE_CERTIFICATE], *key = context->path[FILE_KEY];
	if (!certificate && !key) {
		return true;
	}
	if (!certificate || !key) {
		return refuse(why, "%s: a certificate and its key are needed together",
			certificate ? certificate : key);
	}
	if (SSL_CTX_use_certificate_chain_file(ssl, certificate) != 1) {
		return refuse(why, "%s: is no certificate in PEM: %s", certificate, reason());
	}
	if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1) {
		bool other = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH;
		return other ? refuse(why, "%s: is the key of another certificate than %s", key, certificate)
			     : refuse(why, "%s: is no key in PEM without a passphrase: %s", key, reason());
	}
	return true;
}

static bool
load_revoked(const struct tls_context *context, SSL_CTX *ssl, char *why)
{
	const char *path = context->path[FILE_CRL];
	X509_STORE *store = SSL_CTX_get_cert_store(ssl);
	X509_LOOKUP *lookup = path ? X509_STORE_add_lookup(store, X509_LOOKUP_file()) : NULL;
	if (path && (!lookup || X509_load_crl_file(lookup, path, X509_FILETYPE_PEM) < 1)) {
		return refuse(why, "%s: is no list of revoked certificates in PEM: %s", path, reason());
	}
	if (path) {
		X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
	}
	return true;
}

static bool
load_authorities(const struct tls_context *context, SSL_CTX *ssl, char *why)
{
	const char *ca = context->path[FILE_CA];
	int mode = SSL_VERIFY_PEER | (context->side == TLS_SERVER ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
	if (!ca && context->side == TLS_SERVER) {
		return true;
	}
	SSL_CTX_set_verify(ssl, mode, NULL);
	if (!ca || strcmp(ca, TLS_SYSTEM_CA) == 0) {
		if (SSL_CTX_set_default_verify_paths(ssl) != 1) {
			return refuse(
				why, "the certificates that this host trusts cannot be read: %s", reason());
		}
		return load_revoked(context, ssl, why);
	}
	if (SSL_CTX_load_verify_file(ssl, ca) != 1) {
		return refuse(why, "%s: has no certificate of an authority in PEM: %s", ca, reason());
	}
	if (context->side == TLS_SERVER) {
		SSL_CTX_set_client_CA_list(ssl, SSL_load_client_CA_file(ca));
	}
	return load_revoked(context, ssl, why);
}

static SSL_CTX *
context_make(const struct tls_context *context, char *why)
{
	bool server = context->side == TLS_SERVER;
	SSL_CTX *ssl = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
	ERR_clear_error();
	if (!ssl) {
		refuse(why, "out of memory");
		return NULL;
	}
	SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
	SSL_CTX_set_options(
		ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(ssl, 0);
	SSL_CTX_set_read_ahead(ssl, 1);
	SSL_CTX_set_default_passwd_cb(ssl, no_passphrase);
	if (load_own(context, ssl, why) && load_authorities(context, ssl, why)) {
		return ssl;
	}
	SSL_CTX_free(ssl);
	ERR_clear_error();
	return NULL;
}

bool
tls_context_load(struct tls_context *context, char *why)
{
	stamp stamps[FILES];
	if (!stamps_take(context, stamps, why)) {
		return false;
	}
	if (context->loaded && memcmp(stamps, context->stamps, sizeof stamps) == 0) {
		return true;
	}
	SSL_CTX *ssl = context_make(context, why);
	if (!ssl) {
		return false;
	}
	SSL_CTX_free(context->loaded);
	context->loaded = ssl;
	memcpy(context->stamps, stamps, sizeof stamps);
	return true;
}

bool
tls_context_asks(const struct tls_context *context)
{
	return context->side == TLS_SERVER && context->path[FILE_CA] != NULL;
}

/* ---- the socket ---- */

/* A read that came back short has taken all bytes that were there. The end of the connection may be behind
 * them, and raises no event of its own: OpenSSL reads on if they are no whole record, and finds it. */
static int
socket_read(BIO *bio, char *to, int room)
{
	struct tls *tls = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	ssize_t n = recv(tls->fd, to, (size_t)room, MSG_DONTWAIT);
	tls->drained = n < 0 ? errno == EAGAIN : n > 0 && n < room;
	tls->ended = n == 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		BIO_set_retry_read(bio);
	}
	return (int)n;
}

static int
socket_write(BIO *bio, const char *from, int size)
{
	const struct tls *tls = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	ssize_t n = send(tls->fd, from, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		BIO_set_retry_write(bio);
	}
	return (int)n;
}

static long
socket_control(BIO *bio, int command, long number, void *pointer)
{
	const struct tls *tls = BIO_get_data(bio);
	(void)number, (void)pointer;
	if (command == BIO_CTRL_EOF) {
		return tls->ended;
	}
	return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *
method_new(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket");
	if (!method) {
		return NULL;
	}
	if (BIO_meth_set_read(method, socket_read) == 1 && BIO_meth_set_write(method, socket_write) == 1 &&
		BIO_meth_set_ctrl(method, socket_control) == 1) {
		return method;
	}
	BIO_meth_free(method);
	return NULL;
}

/* OpenSSL reads on until there are data. So that new keys without an end do not keep it reading for seconds,
 * it is made to believe that the peer has ended its side; tls_read() finds out why. */
static void
count_records(int written, int version, int type, const void *data, size_t n, SSL *ssl, void *arg)
{
	struct tls *tls = arg;
	(void)version, (void)data, (void)n;
	if (!written && type == SSL3_RT_HEADER && SSL_is_init_finished(ssl) &&
		++tls->records > TLS_RECORDS_MAX) {
		SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
	}
}

/* ---- contexts ---- */

static void
context_leave(struct tls_context *context)
{
	if (--context->users > 0) {
		return;
	}
	SSL_CTX_free(context->loaded);
	BIO_meth_free(context->method);
	for (int i = 0; i < FILES; i++) {
		free(context->path[i]);
	}
	free(context->name);
	free(context);
}

void
tls_context_free(struct tls_context *context)
{
	if (context) {
		context_leave(context);
	}
}

static bool
text_copy(char **to, const char *from)
{
	*to = from && from[0] != '\0' ? strdup(from) : NULL;
	return *to || !from || from[0] == '\0';
}

struct tls_context *
tls_context_new(enum tls_side side, const struct tls_settings *settings)
{
	struct tls_context *context = calloc(1, sizeof *context);
	if (!context) {
		return NULL;
	}
	context->users = 1;
	context->side = side;
	context->method = method_new();
	if (context->method && text_copy(&context->path[FILE_CERTIFICATE], settings->certificate) &&
		text_copy(&context->path[FILE_KEY], settings->key) &&
		text_copy(&context->path[FILE_CA], settings->ca) &&
		text_copy(&context->path[FILE_CRL], settings->crl) &&
		text_copy(&context->name, settings->name)) {
		return context;
	}
	context_leave(context);
	return NULL;
}

/* ---- a connection ---- */

/* An address has to be in the certificate as an address; a name is also sent, for a server with several. */
static bool
expect_name(SSL *ssl, const char *name)
{
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1) {
		return true;
	}
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

static bool
tls_prepare(struct tls *tls, const char *name)
{
	const struct tls_context *context = tls->context;
	BIO *bio = BIO_new(context->method);
	tls->ssl = bio ? SSL_new(context->loaded) : NULL;
	if (!tls->ssl) {
		BIO_free(bio);
		return false;
	}
	BIO_set_data(bio, tls);
	BIO_set_init(bio, 1);
	SSL_set_bio(tls->ssl, bio, bio);
	SSL_set_msg_callback(tls->ssl, count_records);
	SSL_set_msg_callback_arg(tls->ssl, tls);
	if (context->side == TLS_SERVER) {
		SSL_set_accept_state(tls->ssl);
		return true;
	}
	SSL_set_connect_state(tls->ssl);
	return expect_name(tls->ssl, context->name ? context->name : name);
}

struct tls *
tls_new(struct tls_context *context, int fd, const char *name)
{
	struct tls *tls = calloc(1, sizeof *tls);
	assert(context->loaded);
	if (!tls) {
		return NULL;
	}
	tls->fd = fd;
	tls->context = context;
	context->users++;
	if (tls_prepare(tls, name)) {
		return tls;
	}
	tls->broken = true;
	tls_free(tls);
	return NULL;
}

void
tls_end(struct tls *tls)
{
	if (!tls->broken && tls_is_up(tls)) {
		ERR_clear_error();
		(void)SSL_shutdown(tls->ssl);
	}
}

void
tls_free(struct tls *tls)
{
	if (!tls) {
		return;
	}
	tls_end(tls);
	SSL_free(tls->ssl);
	ERR_clear_error();
	context_leave(tls->context);
	free(tls);
}

/* Whether the certificate of the peer was refused here. */
static bool
break_verify(struct tls *tls)
{
	long result = SSL_get_verify_result(tls->ssl);
	const char *hint = "";
	if (result == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
		result == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
		result == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY) {
		hint = ": its authority is not one of ca";
	} else if (result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH) {
		hint = ": it is for another host; name says which one is right";
	}
	snprintf(tls->why, sizeof tls->why, "TLS: the certificate of the peer is refused: %s%s",
		X509_verify_cert_error_string(result), hint);
	return result != X509_V_OK;
}

static void
break_protocol(struct tls *tls)
{
	int code = ERR_GET_REASON(ERR_peek_error());
	const char *text = reason();
	const char *hint = "";
	if (code == SSL_R_WRONG_VERSION_NUMBER || code == SSL_R_HTTP_REQUEST) {
		hint = ": the peer does not speak TLS here";
	} else if (code == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED ||
		   code == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE ||
		   code == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE) {
		hint = ": a certificate of the client is wanted";
	}
	snprintf(tls->why, sizeof tls->why, "TLS: %s%s", text, hint);
}

/* After an error that is not EAGAIN: notes why, and sets errno. */
static void
tls_break(struct tls *tls, int error, int saved)
{
	if (!tls->broken) {
		tls->broken = true;
		if (tls->ended) {
			snprintf(tls->why, sizeof tls->why, "the peer closed the connection %s",
				SSL_is_init_finished(tls->ssl) ? "without TLS' good-bye"
							       : "during the TLS handshake");
		} else if (error == SSL_ERROR_SYSCALL) {
			snprintf(tls->why, sizeof tls->why, "%s", strerror(saved));
		} else if (!break_verify(tls)) {
			break_protocol(tls);
		}
	}
	ERR_clear_error();
	errno = tls->ended                                                    ? ECONNRESET
		: error == SSL_ERROR_SYSCALL && saved != 0 && saved != EAGAIN ? saved
									      : EPROTO;
}

/* Sets errno for a result <= 0: 0 at the end in good order, else -1. */
static ssize_t
tls_result(struct tls *tls, int result)
{
	int saved = errno;
	int error = SSL_get_error(tls->ssl, result);
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
		errno = EAGAIN;
		return -1;
	}
	if (error == SSL_ERROR_ZERO_RETURN) {
		return 0;
	}
	tls_break(tls, error, saved);
	return -1;
}

static bool
tls_is_usable(const struct tls *tls)
{
	if (tls->broken) {
		errno = EPROTO;
	}
	return !tls->broken;
}

int
tls_handshake(struct tls *tls)
{
	if (!tls_is_usable(tls)) {
		return -1;
	}
	tls->drained = false;
	ERR_clear_error();
	int result = SSL_do_handshake(tls->ssl);
	if (result == 1) {
		return 0;
	}
	if (tls_result(tls, result) == 0) {
		errno = ECONNRESET;
	}
	return -1;
}

bool
tls_is_up(const struct tls *tls)
{
	return SSL_is_init_finished(tls->ssl);
}

bool
tls_wants_write(const struct tls *tls)
{
	return SSL_want_write(tls->ssl);
}

ssize_t
tls_read(struct tls *tls, void *to, size_t room)
{
	if (!tls_is_usable(tls)) {
		return -1;
	}
	tls->drained = false;
	tls->records = 0;
	ERR_clear_error();
	int n = SSL_read(tls->ssl, to, room > INT32_MAX ? INT32_MAX : (int)room);
	if (tls->records > TLS_RECORDS_MAX) {
		snprintf(tls->why, sizeof tls->why, "TLS: %d records without data", tls->records);
		tls->broken = true;
		ERR_clear_error();
	}
	return !tls_is_usable(tls) ? -1 : n > 0 ? n : tls_result(tls, n);
}

bool
tls_may_have_more(const struct tls *tls)
{
	return !tls->drained || SSL_has_pending(tls->ssl);
}

/* A record has at most TLS_RECORD_BYTES, and one call writes one record. */
ssize_t
tls_write(struct tls *tls, const void *from, size_t n)
{
	size_t put = 0;
	if (!tls_is_usable(tls)) {
		return -1;
	}
	tls->drained = false; /* the handshake reads */
	while (put < n) {
		size_t left = n - put;
		ERR_clear_error();
		int result = SSL_write(
			tls->ssl, (const char *)from + put, left > INT32_MAX ? INT32_MAX : (int)left);
		if (result <= 0) {
			ssize_t end = tls_result(tls, result);
			if (put > 0 && !tls->broken) {
				return (ssize_t)put;
			}
			errno = end == 0 ? EPIPE : errno;
			return -1;
		}
		put += (size_t)result;
	}
	return (ssize_t)put;
}

const char *
tls_why(const struct tls *tls)
{
	return tls->why;
}

bool
tls_peer_name(const struct tls *tls, char out[TLS_NAME_MAX])
{
	X509 *peer = SSL_get1_peer_certificate(tls->ssl);
	if (!peer) {
		return false;
	}
	int n = X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, out, TLS_NAME_MAX);
	X509_free(peer);
	return n > 0 && n < TLS_NAME_MAX - 1 && (size_t)n == strlen(out) &&
	       SSL_get_verify_result(tls->ssl) == X509_V_OK;
}
