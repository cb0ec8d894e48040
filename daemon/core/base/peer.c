/*
 * peer: see the header. The core saves peers with its sessions and holds, net with its connections.
 */
#include "daemon/core/base/peer.h"

#include "proto/record.h"

void
peer_fields(struct record *r, struct peer *peer)
{
	record_number(r, &peer->pid);
	record_number(r, &peer->uid);
	record_text(r, peer->address, sizeof(peer->address));
	record_text(r, peer->name, sizeof(peer->name));
	record_flag(r, &peer->admin);
	record_unsigned(r, &peer->user);
}
