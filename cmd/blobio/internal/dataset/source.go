package dataset

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/subfile"
)

// sourceFlags are the flags of verbs that read a dataset.
type sourceFlags struct {
	missing bool
	memory  int64
	workers int
	rescue  bool
}

func (s *sourceFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	cli.AllowMissingFlag(cmd, &s.missing)
	f.Var(cli.SizeFlag(&s.memory), "memory", "memory limit of buffers, such as 256M or 1G (default 256M)")
	f.BoolVar(&s.rescue, "no-verify", false, "read data without verifying checksums, to rescue damaged data")
	cli.WorkersFlag(cmd, &s.workers, "number of concurrent reads (default: number of CPUs)")
}

// The minimum of --memory for reading and for converting, and the default.
const (
	leastMemory    = 1 << 20
	defaultMemory  = 256 << 20
	leastToConvert = 8 << 20
)

// open opens a dataset and prints warnings about missing parts.
func (s *sourceFlags) open(ctx context.Context, e *cli.Env, path string) (*blob.Reader, error) {
	if s.memory != 0 && s.memory < leastMemory {
		return nil, cli.Usagef("--memory %d, want at least %s", s.memory, cli.HumanBytes(leastMemory))
	}
	o := &blob.OpenOptions{AllowMissing: s.missing, Memory: s.memory, Workers: s.workers}
	if s.rescue {
		o.Verify = blob.VerifyNever
	}
	r, err := blob.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if s.rescue && r.Manifest() != nil && e.Root() {
		fmt.Fprintf(e.Stderr, "blobio: note: the data of %s are not compared with their checksums; damage is not detected\n", r.Base())
	}
	if gone := r.Missing(); len(gone) > 0 {
		lost, err := lostElements(ctx, r)
		if err != nil {
			r.Close()
			return nil, err
		}
		var words []string
		for _, l := range lost {
			words = append(words, fmt.Sprintf("%s %d of %d", l.Map, l.Elements, l.Of))
		}
		fmt.Fprintf(e.Stderr, "blobio: warning: %s of %s missing: %s; elements that read as fill values: %s\n",
			cli.Plural(len(gone), "subfile"), r.Base(), strings.Join(gone[:min(3, len(gone))], ", "), strings.Join(words, ", "))
	}
	if e.Root() {
		for _, err := range r.LeftOut() {
			fmt.Fprintf(e.Stderr, "blobio: note: left out: %s\n", cli.ErrorText(err))
		}
	}
	if n := r.Unwritten(); n > 0 {
		fmt.Fprintf(e.Stderr, "blobio: warning: the last %d bytes of %s are missing (never written, or lost) and read as zeros\n", n, r.Base())
	}
	return r, nil
}

// lost counts the missing elements of one map.
type lost struct {
	Map      string `json:"map"`
	Elements int64  `json:"elements"`
	Of       int64  `json:"of"`
}

// lostElements counts the elements of each map that no existing subfile holds, including elements that never had an owner.
func lostElements(ctx context.Context, r *blob.Reader) ([]lost, error) {
	var out []lost
	for d := range r.Schema().NumDecomps() {
		c, err := r.Coverage(ctx, blob.DecompID(d+1))
		if err != nil {
			return nil, err
		}
		out = append(out, lost{fmt.Sprintf("D%d", d+1), c.Uncovered, c.Elems})
	}
	return out, nil
}

// state returns the state of a dataset, by its manifest, in a word.
func state(fsys vfs.FS, r *blob.Reader, now *blob.Status) string {
	if r.Form().Layout == blob.Canonical {
		return "ordinary file"
	}
	if len(r.Missing()) > 0 {
		return fmt.Sprintf("%s missing", cli.Plural(len(r.Missing()), "subfile"))
	}
	if r.Manifest() == nil {
		return "foreign (no manifest)"
	}
	st, err := subfile.ReadState(fsys, r.Base())
	switch {
	case err != nil:
		return "committed, manifest unreadable"
	case st.Pending:
		return "committed, renames outstanding"
	}
	switch {
	case now == nil:
		return "committed"
	case now.State == blob.Died && now.Commit == 0 && st.Manifest.Died:
		return fmt.Sprintf("committed, recovered at %s; the last writer did not finish", cli.Plural(now.Records, "record"))
	case now.State == blob.Died && now.Commit == 0:
		return "committed, its next writer died (blobio recover)"
	case now.State == blob.Died:
		return now.String() + " (blobio recover)"
	case now.State == blob.Writing && now.Commit == 0:
		return "committed, " + now.String()
	case now.State != blob.Finished:
		return now.String()
	}
	return "committed"
}

// checkVars returns an error for a name that is not a variable, and suggests similar names.
func checkVars(r *blob.Reader, names []string) error {
	for _, n := range names {
		if _, ok := r.Schema().VarID(n); ok {
			continue
		}
		for _, v := range r.Schema().Vars() {
			if strings.EqualFold(v.Name, n) {
				return cli.Usagef("%s has no variable %q; did you mean %q?", r.Base(), n, v.Name)
			}
		}
		return cli.WithHint(fmt.Errorf("%s has no variable %q", r.Base(), n), fmt.Sprintf("'blobio ls %s' lists them", r.Base()))
	}
	return nil
}

// completeVars completes variable names, also in comma-separated lists. at is the index of the dataset argument.
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

// completeRecords completes record numbers, also ends of ranges, for the first argument that is a dataset.
func completeRecords(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const none, most = cobra.ShellCompDirectiveNoFileComp, 1000 // maximum length of a list for a person
	var r *blob.Reader
	for _, path := range args {
		var err error
		if r, err = blob.Open(cmd.Context(), path, &blob.OpenOptions{AllowMissing: true}); err == nil {
			break
		}
	}
	if r == nil {
		return nil, none
	}
	defer r.Close()
	before, first, n := "", int64(0), r.Records()
	if from, _, ok := strings.Cut(typed, ":"); ok {
		before = from + ":"
		k, err := strconv.ParseInt(cmp.Or(from, "0"), 10, 64)
		if err != nil || k < 0 || k >= n {
			return nil, none
		}
		first, n = k+1, n+1 // the end of a range is exclusive
	}
	var out []string
	for k := first; k < n && len(out) < most; k++ {
		if name := before + strconv.FormatInt(k, 10); strings.HasPrefix(name, typed) {
			out = append(out, name)
		}
	}
	return out, none | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
}

// recordsFlag adds --records with completion.
func recordsFlag(cmd *cobra.Command, p *string, usage string) {
	cmd.Flags().StringVar(p, "records", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("records", completeRecords)
}

// normalNames accepts names in any Unicode form and converts them to the form used in schemas.
type normalNames struct{ pflag.Value }

func (n normalNames) Set(s string) error { return n.Value.Set(cdf5.NormalName(s)) }

// varsFlag adds a flag for a list of variables, with completion.
func varsFlag(cmd *cobra.Command, p *[]string, short, usage string) {
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	fl.StringSliceVar(p, "vars", nil, usage)
	cmd.Flags().VarP(normalNames{fl.Lookup("vars").Value}, "vars", short, usage)
	_ = cmd.RegisterFlagCompletionFunc("vars", completeVars(0))
}

// IsFree returns an early, plain error if the output already exists.
func IsFree(out string, blobs bool) error {
	exists := func(name string) bool { _, err := os.Lstat(name); return err == nil }
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return fmt.Errorf("the output %s is a directory, want the name of a file", out)
	}
	if exists(out) || blobs && (exists(subfile.Name(out, 0)) || exists(subfile.ManifestName(out))) {
		return fmt.Errorf("the output %s %w", out, blob.ErrExist)
	}
	return nil
}
