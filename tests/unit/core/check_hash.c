/*
 * Texts as numbers, and that names which clients choose are found by a secret one.
 */
#include "daemon/core/base/base.h"
#include "daemon/core/base/map.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <string.h>

/* As another implementation of SipHash-1-3 has them. */
START_TEST(a_text_and_a_secret_make_the_number_that_siphash_says)
{
	const uint64_t none[2] = {0, 0};

	ck_assert_uint_eq(hash_secretly(none, SLICE("a")), UINT64_C(0x407448d2b89b1813));
	ck_assert_uint_eq(hash_secretly(none, SLICE("abcdefg")), UINT64_C(0x6db12aae9070f506));
	ck_assert_uint_eq(hash_secretly(none, SLICE("abcdefgh")), UINT64_C(0x3f7b849c0b8e35ea));
	ck_assert_uint_eq(hash_secretly(none, SLICE("abcdefghi")), UINT64_C(0xf89b34a3d11eb6e5));
	ck_assert_uint_eq(hash_secretly(none, SLICE("orders/2026/11/21")), UINT64_C(0x62461c8ca49a42c1));
	ck_assert_uint_eq(hash_secretly(none,
				  SLICE("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
		UINT64_C(0x4befba7c9610aea3));
}
END_TEST

/* Of the bytes behind the last eight, too, however many there are. */
START_TEST(each_byte_of_a_text_counts)
{
	const uint64_t secret[2] = {1, 2};
	char text[17] = "abcdefghijklmnop";

	for (size_t n = 1; n < sizeof(text); n++) {
		uint64_t before = hash_secretly(secret, (struct slice){text, n});

		ck_assert_uint_ne(before, hash_secretly(secret, (struct slice){text, n - 1}));
		for (size_t i = 0; i < n; i++) {
			text[i] ^= 0x40;
			ck_assert_uint_ne(before, hash_secretly(secret, (struct slice){text, n}));
			text[i] ^= 0x40;
		}
	}
}
END_TEST

START_TEST(another_secret_makes_another_number)
{
	const uint64_t one[2] = {1, 2}, other[2] = {1, 3}, third[2] = {2, 2};

	ck_assert_uint_ne(hash_secretly(one, SLICE("a")), hash_secretly(other, SLICE("a")));
	ck_assert_uint_ne(hash_secretly(one, SLICE("a")), hash_secretly(third, SLICE("a")));
	ck_assert_uint_eq(hash_secretly(one, SLICE("a")), hash_secretly(one, SLICE("a")));
}
END_TEST

/* These have the same number where there is no secret: a client that knows how it is made has as many as it
 * likes. */
START_TEST(names_that_were_chosen_to_share_a_number_do_not)
{
	static const char *const chosen[] = {"f53e4164,bOKNVU6", "c8fedb76eK3OFjkt", "7affb147.f9%Qngk"};
	struct resource *r[3];
	struct story w;

	story_init(&w);
	w.now.random[0] = UINT64_C(0x0123456789abcdef);
	story_anew(&w);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(
			hash_key(chosen[i], strlen(chosen[i])), hash_key(chosen[0], strlen(chosen[0])));
		lock(&w, (conn_id)i + 1, chosen[i]);
		r[i] = names_find(&w.core->leases->names, slice_of(chosen[i]));
		ck_assert_ptr_nonnull(r[i]);
	}
	ck_assert_uint_ne(r[0]->hash, r[1]->hash);
	ck_assert_uint_ne(r[0]->hash, r[2]->hash);
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("hash", NULL, NULL, a_text_and_a_secret_make_the_number_that_siphash_says,
		each_byte_of_a_text_counts, another_secret_makes_another_number,
		names_that_were_chosen_to_share_a_number_do_not);
}
