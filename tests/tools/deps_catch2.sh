#!/bin/sh
# Builds Catch2 3 from Debian's source package into a folder, for systems whose own Catch2 is version 2: the tests are
# written for both. The package is one of a later release, which apt-get fetches into lists of its own: the system's
# stay as they are.
#
# usage: deps_catch2.sh <folder>
set -eu
release=trixie
mkdir -p "$1"
folder=$(cd "$1" && pwd)
work=$folder/source
rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
cd "$work"
# From where this system's own packages come.
site=$(apt-get indextargets --format '$(SITE)' | head -n 1)
echo "deb-src $site $release main" >list
get="apt-get -q -o Dir::Etc::sourcelist=$work/list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$work/lists -o Dir::Cache=$work/cache"
$get update
$get source --download-only catch2
mkdir -p unpacked
tar -xzf catch2_*.orig.tar.gz -C unpacked --strip-components 1
cmake -S unpacked -B made -DCMAKE_INSTALL_PREFIX="$folder" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_CXX_STANDARD=20 \
    -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DCATCH_INSTALL_DOCS=OFF >cmake.log
cmake --build made -j2 >>cmake.log
cmake --install made >>cmake.log
rm -rf "$work"
