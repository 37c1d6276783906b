# Helpers that every folder uses: a library with the project's warnings, and a module for a target behind the C ABI.

function(normfuzz_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  if(NORMFUZZ_WERROR)
    # g++ 12 warns falsely about "literal" + std::string (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Werror $<$<CXX_COMPILER_ID:GNU>:-Wno-error=restrict>)
  endif()
endfunction()

function(normfuzz_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  normfuzz_warnings(${name})
endfunction()

# What stand-alone programs of BugZoo entries are made from, where a target has some: a template in C++, its functions in Python.
function(normfuzz_repro_templates name)
  foreach(template repro.cc.in repro.py)
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${template}")
      configure_file("${CMAKE_CURRENT_SOURCE_DIR}/${template}" "${PROJECT_BINARY_DIR}/targets/${name}/${template}" COPYONLY)
    endif()
  endforeach()
endfunction()

# What lies beside a module: its manifest, its templates and, through a link, so that an edit needs no build, the waivers of its known findings.
# The link leads nowhere where a target has none.
function(normfuzz_target_files name)
  set(folder "${PROJECT_BINARY_DIR}/targets/${name}")
  configure_file("${CMAKE_CURRENT_SOURCE_DIR}/manifest.toml" "${folder}/manifest.toml" COPYONLY)
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/known.toml" "${folder}/known.toml" SYMBOLIC)
  normfuzz_repro_templates(${name})
endfunction()

# A target module: build/targets/NAME/NAME.so beside a copy of its manifest.
function(normfuzz_target_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(target_${name} MODULE ${ARG_SOURCES})
  target_include_directories(target_${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(target_${name} PRIVATE ${ARG_LINK})
  set_target_properties(target_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/targets/${name}")
  normfuzz_warnings(target_${name})
  set_property(GLOBAL APPEND PROPERTY NORMFUZZ_MODULES target_${name})
  file(REMOVE "${PROJECT_BINARY_DIR}/targets/${name}/unavailable.txt")
  normfuzz_target_files(${name})
endfunction()

# A Python target: build/targets/NAME/ with target.py, its manifest and the interpreter that runs it.
function(normfuzz_python_target name python)
  set(folder "${PROJECT_BINARY_DIR}/targets/${name}")
  file(REMOVE "${folder}/unavailable.txt")
  configure_file("${CMAKE_CURRENT_SOURCE_DIR}/target.py" "${folder}/target.py" COPYONLY)
  file(WRITE "${folder}/python.txt" "${python}\n")
  normfuzz_target_files(${name})
endfunction()

# A Python target whose packages `./normfuzz setup NAME` installs: deps/NAME.txt lists them.
function(normfuzz_setup_target name)
  string(TOUPPER ${name} upper)
  set(NORMFUZZ_${upper}_PYTHON "" CACHE FILEPATH "Python interpreter with the packages of deps/${name}.txt; empty: target not available")
  if(NORMFUZZ_${upper}_PYTHON)
    normfuzz_python_target(${name} "${NORMFUZZ_${upper}_PYTHON}")
  else()
    normfuzz_target_missing(${name} "not installed: ./normfuzz setup ${name}")
  endif()
endfunction()

# A target that is not built: says why in a file that `normfuzz targets` reads.
function(normfuzz_target_missing name reason)
  configure_file("${CMAKE_CURRENT_SOURCE_DIR}/manifest.toml" "${PROJECT_BINARY_DIR}/targets/${name}/manifest.toml" COPYONLY)
  file(REMOVE "${PROJECT_BINARY_DIR}/targets/${name}/${name}.so"  # of an earlier build that had it
    "${PROJECT_BINARY_DIR}/targets/${name}/target.py" "${PROJECT_BINARY_DIR}/targets/${name}/python.txt")
  file(WRITE "${PROJECT_BINARY_DIR}/targets/${name}/unavailable.txt" "${reason}\n")
  message(STATUS "target ${name}: not built, ${reason}")
endfunction()
