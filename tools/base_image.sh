#!/bin/bash
# Makes the base image of atom tasks without an image registry: `tools/base_image.sh FOLDER`, as root, on Debian.
# FOLDER/rootfs are its files (bubblewrap runs on them as they are), FOLDER/base.tar is the image; every engine
# that is here and running gets it as localhost/medomni-base:1. What is there already is not made again.
# Any other image with bash, tar, Python 3.11 or later and a user `agent` does as well: tag it with that name.
set -euo pipefail

folder=${1:?usage: tools/base_image.sh FOLDER}
image=localhost/medomni-base:1
path='ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

if [ ! -f "$folder/base.tar" ]; then
  command -v debootstrap >/dev/null || { echo 'debootstrap is needed: apt-get install debootstrap' >&2; exit 2; }
  [ "$(id -u)" = 0 ] || { echo 'only root can run debootstrap' >&2; exit 2; }
  rm -rf "$folder/rootfs"
  mkdir -p "$folder"
  root=$(realpath "$folder")/rootfs
  codename=$(. /etc/os-release; echo "$VERSION_CODENAME")
  mirror=$(apt-get indextargets --format '$(REPO_URI)' | head -n 1)
  debootstrap --variant=minbase --include=python3,python3-numpy,procps,ca-certificates "$codename" "$root" "$mirror"
  chroot "$root" useradd --create-home --uid 1000 --shell /bin/bash agent
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/doc/* "$root"/usr/share/man/*
  find "$root" -name __pycache__ -type d -prune -exec rm -rf {} +
  # Where a sandbox mounts something.
  mkdir -p "$root"/data "$root"/workspace "$root"/logs "$root"/tests "$root"/opt/perception
  tar -C "$root" --numeric-owner -cf "$folder/base.tar.part" .
  mv "$folder/base.tar.part" "$folder/base.tar"
fi

for engine in docker podman; do
  if command -v "$engine" >/dev/null && "$engine" info >/dev/null 2>&1; then
    "$engine" image inspect "$image" >/dev/null 2>&1 ||
      "$engine" import -c 'CMD ["bash"]' -c "$path" "$folder/base.tar" "$image"
    echo "$engine: $image"
  else
    echo "$engine: not here, or not running"
  fi
done
