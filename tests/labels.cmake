# Labels and costs of all tests, included after the areas (tests/README.md has what they mean).
#   fast  one program, without processes or GPUs      e2e   the program from outside
#   gpu   on stand-ins for a GPU, or with NVRTC       slow  only `tools/test --full` runs it; beside one of the others
get_property(all_tests DIRECTORY PROPERTY TESTS)
foreach(test ${all_tests})
  set(label fast)
  if(test MATCHES "^gpu[.]|^docs[.]optim_devices$")
    set(label gpu)
  elseif(test MATCHES "^(e2e|docs)[.]|^exec[.](mpi|tcp|death|store|store_own)$|^launch[.]watchdog$|^checkpoint[.]kill$|^compose[.]sweep$|^tools[.]same_bytes$")
    set(label e2e)
  endif()
  set_property(TEST ${test} APPEND PROPERTY LABELS ${label})
  # Programs that make and destroy many graphs keep their memory: up to a third of their time is the system's otherwise.
  if(NOT label STREQUAL e2e)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT MALLOC_TRIM_THRESHOLD_=1000000000 MALLOC_MMAP_THRESHOLD_=33554432)
  endif()
endforeach()

# gr_slow(REGEX): these tests are slow.
function(gr_slow regex)
  set(tests ${all_tests})
  list(FILTER tests INCLUDE REGEX "${regex}")
  if(tests)
    set_property(TEST ${tests} APPEND PROPERTY LABELS slow)
  endif()
endfunction()
# Every kernel of the shipped configurations.
gr_slow("^gpu[.]nvrtc_configs$")
# The other orders of work: what a seed shows, seed 4 shows, but for mistakes that only a few orders have.
gr_slow("^gpu[.](ops|loops|groups|nccl|nccl_faults|beside)[.][0-3]$")
# Kernels for other sizes of GPUs: their memory is checked by gpu.loops_memory.
gr_slow("^gpu[.]loops[.](t4|rtx3060|a100-1g)$")
# Attention in another order, in parts, or by graphrun's kernels in the order that gpu.attention has.
gr_slow("^gpu[.]attention_cases[.](library[.]1|large[.][04]|tight[.]4|none[.][14])$")
# Every shape of attention asked of the real cuDNN.
gr_slow("^gpu[.]cudnn_plans$")
# Weights and states in host memory, whole runs under the race finder; gpu.copies and gpu.beside have their parts.
gr_slow("^gpu[.](offload|offload_params)$")
# Whole runs: gpu.train has one on one GPU, gpu.queues, .nccl, .groups and .beside what several GPUs do, and gpu.ops and
# gpu.loops the parts. What the short run loses by all that is slow, tests/mutation/run.py --lost lists: 66 of 1,082
# mutants.
gr_slow("^gpu[.](whisper|ranks|programs|convolution|small[.][14]|loops[.](weak|cached)|cudnn)$")
# Profiles of whole runs, and the script that tests on hardware.
gr_slow("^gpu[.](profile|test_run)$")

# Whole features, each of which tests of its parts cover too.
gr_slow("^e2e[.](mp4|freeze|ema|damaged|har|ppo|buffers|canonical|replay|generate|narrow|recompute|teacher|new_kinds)$")
gr_slow("^e2e[.](precision|optimizers|mesh|sharding|overlap|failing|whisper_ranks|whisper_stops)$")
gr_slow("^e2e[.](bad_data|bad_input|evaluation|results|hooks|contract)$|^onnx[.]import$|^compiler[.]accumulate$")
# Whole pages: what they quote is printed again, and their examples run.
gr_slow("^docs[.](quotes|configs|coming_from|small_whisper|gdb)$|^tools[.](same_bytes|watch_data)$")
# Seconds each, for ten of those mutants together: tests/README.md has what remains of each in a short run.
gr_slow("^exec[.]mpi$|^e2e[.](onnx|whisper|check|links)$|^hooks[.]process$|^docs[.]optim_devices$|^ops[.]fastmath_unfused$")
# Every cell of the matrix; job.matrix has every pair of values.
gr_slow("^job[.]matrix_all$")
# Packages: made, and used on this machine and on a minimal Debian, which is downloaded; e2e.install has what is in them.
gr_slow("^e2e[.]package_(root|deb|tar|wheel)$")

# Tests that take longest begin first: seconds, of processors and of waiting, which need not be exact. ctest replaces
# them by what it measures. Those that wait for time-outs come before those that compute, which fill the gaps.
set(costs e2e.stops:300 e2e.links:265 e2e.watchdog:280 e2e.launchers:270 gpu.ops.0:180
  gpu.ops.4:90 e2e.new:40 e2e.new_kinds:70 gpu.attention:80 gpu.train:75 gpu.whisper:130 e2e.whisper_ranks:50 e2e.whisper_stops:45 e2e.recompute:50
  gpu.convolution:70 gpu.ranks:130 e2e.package_root:560 gpu.offload_params:160
  gpu.attention_cases.large.4:50 e2e.surroundings:45 gpu.loops.0:100 gpu.loops.4:100 exec.mpi:60 e2e.mp4:40 ops.ops:40
  e2e.keys:35 gpu.attention_cases.none.4:34 gpu.profile:33 exec.store:60 exec.store_own:17 compiler.accumulate:30 e2e.commands:28
  e2e.generate:27 e2e.verbs:26 e2e.ppo:26 exec.tcp:25 e2e.package_deb:25 e2e.package_wheel:24 model.errors:24
  exec.loopback:23 ops.gemm:22 e2e.checkpoints:21 e2e.resume:21 e2e.hooks:21 e2e.programs:20 e2e.bad_data:20
  e2e.evaluation:20 e2e.har:20 e2e.package_tar:19 e2e.video:18 e2e.lora:17 hooks.process:17 gpu.cudnn:10 gpu.cudnn_plans:40 e2e.canonical:60 job.matrix_all:40
  e2e.bad_input:15 e2e.results:15 e2e.init_from:14 e2e.text:14 e2e.json:13 e2e.device:13 gpu.faults:12 e2e.identity:12
  tools.style:10 compiler.growth:10 compiler.scan_random:8)
foreach(pair ${costs})
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 test)
  list(GET pair 1 seconds)
  if(test IN_LIST all_tests)
    set_tests_properties(${test} PROPERTIES COST ${seconds})
  endif()
endforeach()
