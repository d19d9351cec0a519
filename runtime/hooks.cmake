add_library(gr_hooks hooks.c hooks_append.c hooks_state.c hooks_world.c)
target_link_libraries(gr_hooks PUBLIC gr_base gr_json gr_dep_LUA)
