package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
)

type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Usagef is Errorf for an error of the command line.
func Usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// AsUsage marks an error as an error of the command line.
func AsUsage(err error) error { return &usageError{err} }

// WithHint adds advice to an error.
func WithHint(err error, hint string) error { return &hinted{err, hint} }

type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() }
func (e *hinted) Unwrap() error { return e.err }

// optionRemark matches the Go name of an option, which is useless on the command line.
var optionRemark = regexp.MustCompile(` \((?:Convert|Open|Check|Repair|Diff)?Options\.\w+ [^)]*\)`)

// ErrorLine returns an error as one line, with a hint for typical causes.
func (e *Env) ErrorLine(cmd *cobra.Command, err error) string {
	if interrupted(err) {
		return "interrupted; no incomplete output remains"
	}
	msg := ErrorText(err)
	var u *usageError
	if errors.As(err, &u) {
		return fmt.Sprintf("%s (see '%s --help')", msg, cmd.CommandPath())
	}
	if h := e.hintOf(cmd, err); h != "" {
		msg += " (" + h + ")"
	}
	return msg
}

// interrupted reports whether the user interrupted the verb, and no output was committed.
func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) && !isUnfinished(err) && !errors.As(err, new(*durable.UnsureError))
}

// maxErrors is the maximum number of printed errors of a joined error.
const maxErrors = 8

// Plain makes text from a file or a file name safe for one line of a terminal.
func Plain(s string) string { return fault.Printable(s) }

// Printable reports whether a terminal shows a rune unchanged.
func Printable(r rune) bool { return strconv.IsPrint(r) && r != utf8.RuneError }

// ErrorText returns an error as one line.
func ErrorText(err error) string {
	var lines []string
	more := 0
	for _, l := range strings.Split(err.Error(), "\n") {
		l = strings.TrimSpace(l)
		switch {
		case l == "", slices.Contains(lines, l): // drop repeated lines: several workers or ranks may report the same error
		case len(lines) == maxErrors:
			more++
		default:
			lines = append(lines, fault.Printable(l))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return optionRemark.ReplaceAllString(strings.Join(lines, "; "), "")
}

// isUnfinished reports whether the output is committed, or may be, despite the error.
func isUnfinished(err error) bool {
	return errors.As(err, new(*blob.UnfinishedError)) || errors.As(err, new(*blob.InDoubtError))
}

// hintOf returns advice about an error, or "".
func (e *Env) hintOf(cmd *cobra.Command, err error) string {
	var h *hinted
	switch {
	case errors.As(err, &h):
		if what := e.whatWasNamed(cmd, err); what != "" && h.hint != "" {
			return h.hint + ": " + what
		}
		return h.hint
	case isUnfinished(err):
		return "blobio recover finishes the commit, with -n it only lists the steps; do not remove any files of the dataset"
	case errors.As(err, new(*durable.UnsureError)):
		return "check whether the file is the new one and sync its file system, or write the file again"
	case errors.Is(err, durable.ErrKept), e.Hint == nil:
		return ""
	}
	if what := e.whatWasNamed(cmd, err); what != "" {
		return what
	}
	return e.Hint(cmd, err)
}

// whatWasNamed describes the file of an error if the user named the file and the verb cannot read it.
func (e *Env) whatWasNamed(cmd *cobra.Command, err error) string {
	var fe *fault.FormatError
	if !unread(err) || e.WhatIs == nil || !errors.As(err, &fe) || strings.Contains(fe.Msg, gitLFS) || !slices.Contains(cmd.Flags().Args(), fe.File) {
		return ""
	}
	return e.WhatIs(fe.File)
}

// unread reports whether an error is about a format, version or feature that a verb cannot read.
func unread(err error) bool {
	return errors.Is(err, fault.ErrNotFormat) || errors.Is(err, fault.ErrUnsupported) || errors.Is(err, fault.ErrVersion)
}

// gitLFS is part of messages that already contain advice.
const gitLFS = "git lfs pull"

// CouldHelp reports whether a verb has a flag that the user has not given yet.
func CouldHelp(cmd *cobra.Command, flag string) bool {
	f := cmd.Flags().Lookup(flag)
	return f != nil && (!f.Changed || f.Value.Type() != "bool")
}

// IsFormatError reports whether err is about the content of a file.
func IsFormatError(err error) bool {
	for _, class := range []error{blob.ErrNotFormat, blob.ErrTruncated, blob.ErrCorrupt, blob.ErrChecksum} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}
