// messages.c - what the hooks' process sends to the run. See script.h.
#include <lauxlib.h>
#include <unistd.h>
#include "runtime/hooks/script.h"

void gr_sandbox_send(gr_sandbox *w) {
  if (!gr_wire_send(w->socket, &w->out, NULL, NULL)) _exit(1);
}

void gr_sandbox_log(gr_sandbox *w, gr_level level, const char *text, size_t len) {
  gr_wire_begin(&w->out, GR_WIRE_LOG);
  gr_wire_put_int(&w->out, level);
  gr_wire_put_bytes(&w->out, text, len);
  gr_sandbox_send(w);
}

int gr_sandbox_append(lua_State *L) {
  gr_sandbox *w = gr_sandbox_of(L);
  size_t name_len, len;
  const char *name = luaL_checklstring(L, 1, &name_len), *text = luaL_checklstring(L, 2, &len);
  gr_wire_begin(&w->out, GR_WIRE_APPEND);
  gr_wire_put_bytes(&w->out, name, name_len);
  gr_wire_put_bytes(&w->out, text, len);
  gr_sandbox_send(w);
  if (!gr_wire_receive(w->socket, &w->in, NULL, NULL) || w->in.kind != GR_WIRE_APPENDED) _exit(1);
  const char *why = gr_wire_text(&w->in);
  return why && *why ? luaL_error(L, "%s", why) : 0;
}
