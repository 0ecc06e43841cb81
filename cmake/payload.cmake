# SPDX-License-Identifier: Apache-2.0
#
# prefixroute_payload: the payload component, a library beside prefixroute.

add_library(prefixroute_payload
  src/payload/c.cc
  src/payload/kernels.cc
  src/payload/kernels_baseline.cc
  src/payload/prompt_writer.cc
  src/payload/reader.cc
  src/payload/scan.cc)
# What steps over bytes, for each width of vectors, of which one is chosen at run time; at -O3 whatever the build is.
set_source_files_properties(src/payload/kernels_baseline.cc src/payload/prompt_writer.cc src/payload/scan.cc PROPERTIES
  COMPILE_OPTIONS -O3)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  target_sources(prefixroute_payload PRIVATE src/payload/kernels_avx2.cc src/payload/kernels_avx512.cc)
  set_source_files_properties(src/payload/kernels_avx2.cc PROPERTIES COMPILE_OPTIONS "-O3;-mavx2")
  set_source_files_properties(src/payload/kernels_avx512.cc PROPERTIES COMPILE_OPTIONS "-O3;-mavx2;-mavx512f;-mavx512bw")
endif()
add_library(prefixroute::payload ALIAS prefixroute_payload)
target_include_directories(prefixroute_payload PRIVATE ${PROJECT_SOURCE_DIR} ${PREFIXROUTE_XXHASH_INCLUDE_DIR})
target_link_libraries(prefixroute_payload
  PUBLIC prefixroute
  PRIVATE ${private_absl} $<BUILD_INTERFACE:prefixroute_compile_options>)
set_target_properties(prefixroute_payload PROPERTIES
  EXPORT_NAME payload
  CXX_EXTENSIONS OFF
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  POSITION_INDEPENDENT_CODE ON
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
if(NOT library_type STREQUAL "STATIC_LIBRARY" AND UNIX AND NOT APPLE)
  set(payload_version_script ${PROJECT_SOURCE_DIR}/cmake/prefixroute_payload.map)
  target_link_options(prefixroute_payload PRIVATE "LINKER:--version-script=${payload_version_script}")
  set_target_properties(prefixroute_payload PROPERTIES LINK_DEPENDS ${payload_version_script})
endif()
