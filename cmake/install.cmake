# SPDX-License-Identifier: Apache-2.0
#
# Install rules: the library, its headers, a CMake package and a pkg-config file. The tree may be moved afterwards.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/prefixroute)

install(TARGETS prefixroute
  EXPORT prefixrouteTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT prefixroute_Runtime
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT prefixroute_Runtime NAMELINK_COMPONENT prefixroute_Development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT prefixroute_Development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(without_payload PATTERN "payload*.h" EXCLUDE)
if(PREFIXROUTE_BUILD_PAYLOAD)
  set(without_payload "")
  # An export of its own, by which the package knows whether it has this component.
  install(TARGETS prefixroute_payload
    EXPORT prefixroutePayloadTargets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT prefixroute_Runtime
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT prefixroute_Runtime NAMELINK_COMPONENT prefixroute_Development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT prefixroute_Development
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT prefixroutePayloadTargets
    NAMESPACE prefixroute:: DESTINATION ${package_dir} COMPONENT prefixroute_Development)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/prefixroute
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT prefixroute_Development
  FILES_MATCHING PATTERN "*.h" ${without_payload})

install(EXPORT prefixrouteTargets
  NAMESPACE prefixroute:: DESTINATION ${package_dir} COMPONENT prefixroute_Development)
configure_package_config_file(cmake/prefixrouteConfig.cmake.in ${PROJECT_BINARY_DIR}/prefixrouteConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# While the major version is 0, a minor version may break what came before.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/prefixrouteConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/prefixrouteConfig.cmake ${PROJECT_BINARY_DIR}/prefixrouteConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT prefixroute_Development)

# pkg-config has no private flags for those who link statically without --static, so there all that we need is public.
list(TRANSFORM PREFIXROUTE_PUBLIC_ABSL PREPEND absl_ OUTPUT_VARIABLE pc_requires)
list(TRANSFORM PREFIXROUTE_PRIVATE_ABSL PREPEND absl_ OUTPUT_VARIABLE pc_requires_private)
set(pc_cflags "")
set(pc_libs "")
if(library_type STREQUAL "STATIC_LIBRARY")
  list(APPEND pc_requires ${pc_requires_private})
  set(pc_requires_private "")
  set(pc_cflags " -DPREFIXROUTE_STATIC")
  set(pc_libs " -lm")  # Which a C compiler doesn't link by itself.
endif()
list(JOIN pc_requires ", " pc_requires)
list(JOIN pc_requires_private ", " pc_requires_private)
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(pc_names prefixroute)
if(PREFIXROUTE_BUILD_PAYLOAD)
  list(APPEND pc_names prefixroute-payload)
endif()
foreach(name IN LISTS pc_names)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT prefixroute_Development)
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT prefixroute_Development)
