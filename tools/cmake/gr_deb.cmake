# The Debian package: included in the configuration of cpack that tools/package writes. GR_STAGE: the folder of what goes
# to /usr; GR_CACHE: CMakeCache.txt of the build, whose project names the package; GR_CONTACT: "NAME <MAIL>".
file(STRINGS "${GR_CACHE}" lines REGEX "^CMAKE_PROJECT_(NAME|VERSION|DESCRIPTION):")
foreach(line ${lines})
  string(REGEX REPLACE "^CMAKE_PROJECT_([A-Z]+):[A-Z]+=(.*)" "\\1;\\2" pair "${line}")
  list(GET pair 0 key)
  list(GET pair 1 ${key})
endforeach()

# gr_needs(field out FILE...): the packages, with versions, that the libraries of these files are in. field: how needed.
function(gr_needs field out)
  set(folder ${GR_STAGE}.needs)
  file(MAKE_DIRECTORY ${folder}/debian)
  file(WRITE ${folder}/debian/control "Source: ${NAME}\n\nPackage: ${NAME}\nArchitecture: any\n")
  list(TRANSFORM ARGN PREPEND "-e")
  execute_process(COMMAND dpkg-shlibdeps -O -d${field} --ignore-missing-info ${ARGN} WORKING_DIRECTORY ${folder}
                  OUTPUT_VARIABLE text RESULT_VARIABLE failed ERROR_VARIABLE errors OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REMOVE_RECURSE ${folder})
  if(failed)
    message(FATAL_ERROR "dpkg-shlibdeps: ${errors}")
  endif()
  string(REGEX REPLACE "^.*shlibs:${field}=" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()
file(GLOB modules "${GR_STAGE}/lib/graphrun/*.so")
# Every run on CPUs has oneDNN's module. MPI is large and often another one is there; without, ranks are threads.
set(depends ${modules})
list(FILTER depends INCLUDE REGEX "_(onednn|cuda|nccl|local)[.]so$")
set(suggests ${modules})
list(FILTER suggests INCLUDE REGEX "_mpi[.]so$")
list(REMOVE_ITEM modules "" ${depends} ${suggests})
gr_needs(Depends CPACK_DEBIAN_PACKAGE_DEPENDS ${GR_STAGE}/bin/graphrun ${depends})
if(modules)
  gr_needs(Recommends CPACK_DEBIAN_PACKAGE_RECOMMENDS ${modules})
endif()
if(suggests)
  gr_needs(Suggests CPACK_DEBIAN_PACKAGE_SUGGESTS ${suggests})
  string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", openmpi-bin")
endif()
# The libraries of one field are not repeated in another.
foreach(field RECOMMENDS SUGGESTS)
  string(REPLACE ", " ";" list "${CPACK_DEBIAN_PACKAGE_${field}}")
  list(FILTER list EXCLUDE REGEX "^libc6 ")
  list(JOIN list ", " CPACK_DEBIAN_PACKAGE_${field})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ${NAME})
set(CPACK_PACKAGE_VERSION ${VERSION})
set(CPACK_PACKAGE_FILE_NAME ${NAME})  # of the staged folder
set(CPACK_PACKAGE_CONTACT "${GR_CONTACT}")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PACKAGE_DESCRIPTION "${DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "${DESCRIPTION}
One program composes the configuration as Hydra does, compiles the training
step (forward, backward, optimizer, collectives, sharding) into one static
graph, proves and plans it for every rank before anything runs, and runs it.

It needs an x86-64 processor with AVX2. NVIDIA's libraries for GPUs, which
are not part of Debian, are loaded where they are found.")
set(CPACK_INSTALLED_DIRECTORIES "${GR_STAGE};usr")
set(CPACK_SET_DESTDIR OFF)
set(CPACK_TOPLEVEL_TAG deb)
