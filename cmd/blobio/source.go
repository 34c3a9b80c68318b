package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// sourceFlags are those of verbs that read a dataset.
type sourceFlags struct {
	missing bool
	memory  int64
	workers int
}

func (s *sourceFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&s.missing, "allow-missing", false, "go on although subfiles are missing; what they held reads as fill values")
	f.Var(bytesValue{&s.memory}, "memory", "cap of buffers, such as 256M or 1G (default 256M)")
	f.IntVar(&s.workers, "workers", 0, "concurrent reads (default: number of CPUs)")
}

// open opens a dataset, and warns on stderr about what is missing.
func (s *sourceFlags) open(ctx context.Context, e *env, path string) (*blob.Reader, error) {
	r, err := blob.Open(ctx, path, &blob.OpenOptions{AllowMissing: s.missing, Memory: s.memory, Workers: s.workers})
	if err != nil {
		return nil, err
	}
	if lost := r.Missing(); len(lost) > 0 {
		fmt.Fprintf(e.stderr, "blobio: warning: %s of %s missing: %s; what was in them reads as fill values\n",
			plural(len(lost), "subfile"), r.Base(), strings.Join(lost[:min(3, len(lost))], ", "))
	}
	return r, nil
}

// state says in a word what the manifest tells of a dataset.
func state(r *blob.Reader) string {
	if r.Layout() == blob.Canonical {
		return "ordinary file"
	}
	if len(r.Missing()) > 0 {
		return fmt.Sprintf("%s missing", plural(len(r.Missing()), "subfile"))
	}
	if r.Manifest() == nil {
		return "foreign (no manifest)"
	}
	st, err := subfile.ReadState(vfs.OS, r.Base())
	switch {
	case err != nil:
		return "committed, manifest unreadable"
	case st.Pending:
		return "committed, renames outstanding"
	case st.Writing:
		return "committed, a writer is at work or died"
	}
	return "committed"
}

// checkVars says which of the names is no variable, and offers near ones.
func checkVars(r *blob.Reader, names []string) error {
	for _, n := range names {
		if _, ok := r.Schema().VarID(n); ok {
			continue
		}
		for _, v := range r.Schema().Vars() {
			if strings.EqualFold(v.Name, n) {
				return usagef("%s has no variable %q, but %q", r.Base(), n, v.Name)
			}
		}
		return &hinted{fmt.Errorf("%s has no variable %q", r.Base(), n), fmt.Sprintf("'blobio ls %s' lists them", r.Base())}
	}
	return nil
}

// completeVars completes names of variables of the dataset that is the
// argument at: comma-separated lists too.
func completeVars(at int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if len(args) <= at {
			return nil, none
		}
		r, err := blob.Open(cmd.Context(), args[at], &blob.OpenOptions{AllowMissing: true})
		if err != nil {
			return nil, none
		}
		defer r.Close()
		before := ""
		if i := strings.LastIndexByte(typed, ','); i >= 0 {
			before = typed[:i+1]
		}
		var out []string
		for _, v := range r.Schema().Vars() {
			if name := before + v.Name; strings.HasPrefix(name, typed) {
				out = append(out, name)
			}
		}
		return out, none | cobra.ShellCompDirectiveNoSpace
	}
}

// varsFlag adds a list of variables with completion.
func varsFlag(cmd *cobra.Command, p *[]string, short, usage string) {
	cmd.Flags().StringSliceVarP(p, "vars", short, nil, usage)
	_ = cmd.RegisterFlagCompletionFunc("vars", completeVars(0))
}
