// test_store_keys.c - the keys of the store: what is gathered by each, of ranks that have a part.
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/hash.h"
#include "runtime/comm/store_keys.h"
#include "runtime/comm/store_wire.h"
#include "tests/check.h"

enum { RANKS = 3 };

static void a_gather_has_a_part_of_each_rank(void) {
  gr_store_key *list = NULL;
  char key[GR_STORE_KEY] = "all", who[64];
  gr_store_key *e = gr_store_key_find(&list, key, RANKS);
  CHECK(gr_store_key_contribute(e, RANKS, 1, "one", 3), "the first part is refused");
  gr_store_list_missing(e->here, RANKS, who, sizeof who);
  CHECK(!strcmp(who, "0, 2"), "'%s' are missing", who);
  CHECK(!gr_store_key_contribute(e, RANKS, 1, "two", 3), "a second part of a rank is taken");
  CHECK(!gr_store_key_contribute(e, RANKS, 0, "four", 4), "a part of another size is taken");
  CHECK(gr_store_key_contribute(e, RANKS, 0, "nil", 3), "another rank's part is refused");
  CHECK(gr_store_key_contribute(e, RANKS, 2, "two", 3), "the last part is refused");
  CHECK(e->came == RANKS && !memcmp(e->value, "nilonetwo", 9), "%d: %.9s", e->came, e->value);
  CHECK(gr_store_key_find(&list, key, RANKS) == e, "there are two of one name");
  gr_store_keys_free(list);
}

// The connection by which a rank is watched comes by a number behind those of the ranks, for which
// a gather has no place.
static void who_watches_has_no_part(void) {
  int fd, port;
  gr_store *s;
  gr_store_hello h = {GR_STORE_MAGIC, GR_STORE_VERSION, gr_hash_text("a job"), 1, 1};
  struct {
    gr_store_request request;
    char part[8];
  } r = {{.magic = GR_STORE_MAGIC, .call = GR_STORE_GATHER, .bytes = 8, .key = "all"}, "a part"};
  gr_store_reply reply;
  gr_net_wait w = {gr_seconds() + 600, NULL};
  if (gr_net_listen("127.0.0.1", 0, &fd, &port)) abort();
  close(fd);
  gr_store_options o = {.host = "127.0.0.1", .port = port, .ports = 1, .local = true};
  o.token = "a job", o.ranks = 1, o.timeout_s = 600, o.setting = "MASTER_PORT";
  MUST(gr_store_open(&o, &s));
  if (gr_net_connect("127.0.0.1", port, w, &fd) || gr_net_send(fd, &h, sizeof h, w)) abort();
  CHECK(!gr_net_receive(fd, &reply, sizeof reply, w) && reply.answer == GR_STORE_DONE, "no answer");
  CHECK(!gr_net_send(fd, &r, sizeof r, w), "nothing is sent");
  CHECK(gr_net_receive(fd, &reply, 1, w) == ECONNRESET, "a part of none of the ranks is taken");
  MUST(gr_store_barrier(s, "end"));
  close(fd);
  gr_store_close(s);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"a_gather_has_a_part_of_each_rank", a_gather_has_a_part_of_each_rank},
             {"who_watches_has_no_part", who_watches_has_no_part});
}
