# Builds from the checkout, with Go alone unless noted:
#
#   make                        build/blobio, without cgo
#   make install PREFIX=/usr/local [DESTDIR=] [MPI=ompi]
#                               command, man pages, completions, and the C library of capi (needs a C compiler)
#   make install-command        the command, its man pages and completions only
#   make release                dist/: archives, packages, checksums, list of what is inside; docs/releases.md
#   make set-version TO=1.6.0   the version, wherever it stands

GO ?= go
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
COMPDIR ?= $(PREFIX)/share
BUILD ?= build
comma := ,
MPI ?=
GOLDFLAGS ?= # of Go's linker, as "-s -w": no tables for debuggers

# MPI=ompi and MPI=mpich: ranks are processes of mpirun; needs cgo
ifeq ($(MPI),)
COMMAND := blobio
BUILDENV := CGO_ENABLED=0
else
COMMAND := blobio-mpi
BUILDENV := CGO_ENABLED=1
TAGS := -tags mpi$(if $(filter mpich,$(MPI)),$(comma)mpich)
endif

BUILDDIR := $(abspath $(BUILD))

all: command

command:
	mkdir -p $(BUILDDIR)
	$(BUILDENV) $(GO) build -trimpath $(TAGS) $(GOBUILDFLAGS) -ldflags="$(strip $(GOLDFLAGS))" -o $(BUILDDIR)/$(COMMAND) ./cmd/blobio

# The command writes its own man pages and completions.
install-command: command
	mkdir -p $(DESTDIR)$(BINDIR)
	install -m 755 $(BUILDDIR)/$(COMMAND) $(DESTDIR)$(BINDIR)/
ifeq ($(MPI),)
	$(BUILDDIR)/blobio man $(DESTDIR)$(MANDIR)/man1
	mkdir -p $(DESTDIR)$(COMPDIR)/bash-completion/completions $(DESTDIR)$(COMPDIR)/zsh/site-functions $(DESTDIR)$(COMPDIR)/fish/vendor_completions.d
	$(BUILDDIR)/blobio completion bash >$(DESTDIR)$(COMPDIR)/bash-completion/completions/blobio
	$(BUILDDIR)/blobio completion zsh >$(DESTDIR)$(COMPDIR)/zsh/site-functions/_blobio
	$(BUILDDIR)/blobio completion fish >$(DESTDIR)$(COMPDIR)/fish/vendor_completions.d/blobio.fish
endif

install:
	$(MAKE) -C capi install PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" MPI="$(MPI)" BUILD="$(BUILDDIR)"

release:
	packaging/release dist

set-version:
	scripts/set-version "$(TO)"

clean:
	rm -rf $(BUILDDIR) dist

.PHONY: all command install-command install release set-version clean
