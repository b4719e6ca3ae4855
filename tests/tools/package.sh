#!/bin/sh
# Prints the files by which other build systems find an installed plaingrad: pkg-config's two, and CMake's two. They
# all have the same content, which is written once here.
#
# usage: package.sh plaingrad.pc|plaingrad-double.pc|plaingradConfig.cmake|plaingradConfigVersion.cmake <prefix> <version> [<libs>]
# libs: what a program must link besides, such as MPI's libraries.
file=$1 prefix=$2 version=$3 libs=$4

pkgconfig() {  # name, element type, flags, library
    cat <<END
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include/plaingrad

Name: $1
Description: autograd and Transformers in plain C++20 ($2)
Version: $version
Cflags: -std=c++20 -pthread -I\${includedir}$3
Libs: -L\${libdir} -l$4 -pthread${libs:+ $libs}
END
}

case $file in
plaingrad.pc) pkgconfig plaingrad float '' plaingrad ;;
plaingrad-double.pc) pkgconfig plaingrad-double double ' -DPLAINGRAD_REAL=double' plaingrad_double ;;
plaingradConfig.cmake)
    # In CMake a list is joined by semicolons.
    cat <<'END' | sed "s|@LIBS@|$(printf '%s' "${libs:+ $libs}" | sed 's/ /;/g')|"
# find_package(plaingrad) defines plaingrad::plaingrad (float) and plaingrad::double. Link one of them, never both.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
get_filename_component(_plaingrad "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(_target plaingrad double)
  if(NOT TARGET plaingrad::${_target})
    add_library(plaingrad::${_target} STATIC IMPORTED)
    set_target_properties(plaingrad::${_target} PROPERTIES
      IMPORTED_LOCATION "${_plaingrad}/lib/libplaingrad.a"
      INTERFACE_INCLUDE_DIRECTORIES "${_plaingrad}/include/plaingrad"
      INTERFACE_COMPILE_FEATURES cxx_std_20
      INTERFACE_LINK_LIBRARIES "Threads::Threads@LIBS@")
  endif()
endforeach()
set_target_properties(plaingrad::double PROPERTIES
  IMPORTED_LOCATION "${_plaingrad}/lib/libplaingrad_double.a"
  INTERFACE_COMPILE_DEFINITIONS PLAINGRAD_REAL=double)
unset(_plaingrad)
unset(_target)
END
    ;;
plaingradConfigVersion.cmake)
    # Before 1.0 a change of the second number may break what is built on the library.
    cat <<END
set(PACKAGE_VERSION $version)
set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION AND
   "\${PACKAGE_FIND_VERSION_MAJOR}.\${PACKAGE_FIND_VERSION_MINOR}" VERSION_EQUAL ${version%.*})
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
END
    ;;
*)
    echo "package.sh: no such file: $file" >&2
    exit 2
    ;;
esac
