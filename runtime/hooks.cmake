add_library(gr_hooks hooks.c hooks_append.c hooks_params.c hooks_process.c hooks_wire.c
                     hooks_worker.c hooks_run.c hooks_world.c hooks_ctx.c hooks_script.c hooks_state.c
                     hooks_state_json.c)
target_link_libraries(gr_hooks PUBLIC gr_base gr_json gr_dep_LUA)
