package verbs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/cmd/blobio/internal/decomps"
	"blobio/cmd/blobio/internal/fti"
	"blobio/cmd/blobio/internal/mesh"
	"blobio/cmd/blobio/internal/scrtools"
	"blobio/cmd/blobio/internal/versions"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/subfile"
)

// family is a kind of files that ls, check, dump, diff and plot recognize by content.
type family struct {
	name  string
	knows func(path string) bool
	// verbs maps a verb to the family's own verb. If the own verb ends with a flag, each path is a value of the flag.
	verbs map[string]string
}

// families are tried in this order: stores of versions come before checkpoints of FTI, because an array with versions consists of
// FTI files. A path of no family is a dataset, or unknown to blobio.
var families = []family{
	{"checkpoint of Cello", mesh.Knows, map[string]string{"ls": "amr ls", "check": "amr check", "dump": "amr dump", "diff": "amr diff", "plot": "amr plot", "convert": "amr convert"}},
	{"store of versions", versions.Knows, map[string]string{"ls": "versions ls", "check": "versions check", "dump": "versions dump", "diff": "versions diff", "convert": "versions convert"}},
	{"checkpoint of FTI", fti.Knows, map[string]string{"ls": "ff ls", "check": "ff check", "dump": "ff dump", "diff": "ff diff", "convert": "ff convert"}},
	{"cache of SCR", scrtools.KnowsControl, map[string]string{"ls": "scr check --quick --control=", "check": "scr check --control="}},
	{"prefix directory of SCR", scrtools.KnowsPrefix, map[string]string{"ls": "scr index", "check": "scr check"}},
	{"key/value file", scrtools.KnowsTree, map[string]string{"ls": "scr print", "check": "scr print --quiet", "dump": "scr print"}},
	{"map file", decomps.Knows, map[string]string{"ls": "decomp info", "check": "decomp check", "dump": "decomp info", "plot": "decomp plot", "convert": "decomp convert"}},
	{"map file", decomps.KnowsCDF, map[string]string{"ls": "decomp info", "check": "decomp check", "dump": "dump", "diff": "diff", "plot": "decomp plot", "convert": "convert", "where": "where"}},
	{"dataset", nil, map[string]string{"ls": "ls", "check": "check", "dump": "dump", "diff": "diff", "plot": "decomp plot", "convert": "convert", "where": "where"}},
}

// byContent are the verbs that accept any path.
var byContent = []string{"ls", "check", "dump", "diff", "plot"}

// ofDatasets are verbs that accept only datasets, although other families may have a verb with the same name.
var ofDatasets = []string{"convert", "where"}

// familyOf returns the family of a path. It skips families whose verb is the same as for datasets.
func familyOf(path, verb string) *family {
	for i := range families {
		if f := &families[i]; f.verbs[verb] != verb && f.knows != nil && f.knows(path) {
			return f
		}
	}
	return nil
}

// whatItIs describes a path and names the verb that reads it, unless the path belongs to the family of args.
func whatItIs(path string, args []string) string {
	own := "" // the verb group
	if at := slices.IndexFunc(args, func(s string) bool { return !strings.HasPrefix(s, "-") }); at >= 0 && slices.Contains([]string{"amr", "decomp", "ff", "scr", "versions"}, args[at]) {
		own = args[at]
	}
	for i := range families {
		f := &families[i]
		if group, _, _ := strings.Cut(f.verbs["check"], " "); f.knows != nil && group != own && f.knows(path) {
			return fmt.Sprintf("the file is a %s, for \"blobio %s\"", f.name, group)
		}
	}
	r, err := blob.Open(context.Background(), path, &blob.OpenOptions{AllowMissing: true})
	if err == nil {
		defer r.Close()
	}
	if err == nil && own != "" {
		if r.Form().Layout != blob.Canonical {
			return "the file is a dataset of blobs, for \"blobio check\""
		}
		return "the file is an ordinary netCDF file, for \"blobio check\""
	}
	if info, serr := os.Stat(path); serr != nil || !info.Mode().IsRegular() {
		if errors.Is(err, blob.ErrVersion) {
			return "a later version of blobio may read it"
		}
		return ""
	}
	head, _ := vfs.ReadStream(path, 64)
	what, who := vfs.Kind(head)
	switch {
	case what == "" && len(head) > 0 && vfs.IsText(head):
		return "the file begins with text"
	case what == "":
		return ""
	case who == "":
		return "it is " + what
	}
	return "it is " + what + ": " + who
}

// route splits a command line into several command lines, one for each family of paths.
func route(args []string) ([][]string, error) {
	at := slices.IndexFunc(args, func(s string) bool { return !strings.HasPrefix(s, "-") })
	if at < 0 {
		return [][]string{args}, nil
	}
	verb, rest := args[at], args[at+1:]
	if slices.Contains(ofDatasets, verb) {
		return [][]string{args}, refuseOthers(verb, rest)
	}
	if !slices.Contains(byContent, verb) {
		return [][]string{args}, nil
	}
	path := paths(verb, rest)
	if verb == "plot" && ofVariable(rest, path) {
		return [][]string{args}, nil
	}
	if !slices.Contains(path, true) {
		return [][]string{args}, nil
	}
	several := verb == "ls" || verb == "check" // accept many paths, of any kinds
	datasets := &families[len(families)-1]
	of := make([]*family, len(rest)) // nil: a flag or its value
	var found []*family
	for i, s := range rest {
		if !path[i] {
			continue
		}
		of[i] = familyOf(s, verb)
		if of[i] == nil && several {
			_, ferr := subfile.Find(vfs.OS, s)
			if _, err := os.Lstat(s); err == nil || ferr == nil {
				of[i] = datasets
			}
		}
		if of[i] != nil && !slices.Contains(found, of[i]) {
			found = append(found, of[i])
		}
	}
	if len(found) == 0 {
		found = append(found, datasets)
	}
	for _, f := range found {
		if f.verbs[verb] == "" {
			return nil, f.refuses(verb)
		}
	}
	if len(found) > 1 && (!several || slices.Contains(rest, "--json")) {
		return nil, fmt.Errorf("the arguments are a %s and a %s, but %s accepts only one kind of file", found[0].name, found[1].name, strings.Join(args[:at+1], " "))
	}
	var lines [][]string
	for _, f := range found {
		words := strings.Fields(f.verbs[verb])
		flag := words[len(words)-1]
		if strings.HasSuffix(flag, "=") {
			words = words[:len(words)-1]
		} else {
			flag = ""
		}
		line := slices.Concat(args[:at], words)
		for i, s := range rest {
			if of[i] == f {
				line = append(line, flag+s)
			} else if of[i] == nil {
				line = append(line, s)
			}
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// refuseOthers returns an error if a dataset verb gets an argument of another family.
func refuseOthers(verb string, args []string) error {
	names := marked(args, paths(verb, args))
	if verb == "convert" && len(names) > 1 {
		names = names[:len(names)-1] // without the output
	}
	for _, name := range names {
		if set, err := subfile.Find(vfs.OS, name); err == nil && !set.Single {
			continue
		}
		if f := familyOf(name, verb); f != nil {
			return f.refuses(verb)
		}
	}
	return nil
}

// refuses returns the error of a verb that does not accept the family.
func (f *family) refuses(verb string) error {
	if words := f.verbs[verb]; words != "" {
		return fmt.Errorf("%s does not accept a %s, but \"blobio %s\" does", verb, f.name, words)
	}
	return fmt.Errorf("%s does not accept a %s, only these verbs do: %s", verb, f.name, strings.Join(f.takes(), ", "))
}

// ofVariable reports whether the arguments of plot are a variable and a dataset, not paths of one family.
func ofVariable(args []string, path []bool) bool {
	names := marked(args, path)
	if len(names) != 2 || mesh.Knows(names[1]) { // a field of a checkpoint
		return false
	}
	r, err := blob.Open(context.Background(), names[1], &blob.OpenOptions{AllowMissing: true})
	if err == nil {
		defer r.Close()
		if _, ok := r.Schema().VarID(names[0]); ok {
			return true
		}
	}
	_, none := os.Lstat(names[0])
	_, base := subfile.Find(vfs.OS, names[0])
	return none != nil && base != nil
}

// paths marks the arguments of a verb that may be paths: those that are neither flags nor flag values in any family.
func paths(verb string, args []string) []bool {
	root := newRoot(&cli.Env{})
	lines := []string{verb}
	for _, f := range families {
		lines = append(lines, f.verbs[verb])
	}
	var cmds []*cobra.Command
	for _, line := range lines {
		if cmd, _, err := root.Find(strings.Fields(line)); err == nil && line != "" {
			cmds = append(cmds, cmd)
		}
	}
	return scan(cmds, args)
}

// marked returns the marked arguments.
func marked(args []string, is []bool) (out []string) {
	for i, s := range args {
		if is[i] {
			out = append(out, s)
		}
	}
	return out
}

// scan marks the arguments that are neither flags nor flag values. The first command with a flag decides whether the flag takes a
// value.
func scan(cmds []*cobra.Command, args []string) []bool {
	valued := func(name, letter string) bool {
		for _, cmd := range cmds {
			f := cmd.Flags().Lookup(name)
			if letter != "" {
				f = cmd.Flags().ShorthandLookup(letter)
			}
			if f != nil {
				return f.NoOptDefVal == ""
			}
		}
		return false
	}
	out := make([]bool, len(args))
	for i := 0; i < len(args); i++ {
		long, is := strings.CutPrefix(args[i], "--")
		switch {
		case args[i] == "--":
			for i++; i < len(args); i++ {
				out[i] = true
			}
		case is:
			if !strings.Contains(long, "=") && valued(long, "") {
				i++
			}
		case strings.HasPrefix(args[i], "-"):
			for k := 1; k < len(args[i]); k++ { // -qo NAME is -q -o NAME, -oNAME includes its value
				if valued("", args[i][k:k+1]) {
					if k == len(args[i])-1 {
						i++
					}
					break
				}
			}
		default:
			out[i] = true
		}
	}
	return out
}

// takes returns the verbs that a family has.
func (f *family) takes() (list []string) {
	for _, v := range byContent {
		if f.verbs[v] != "" {
			list = append(list, v)
		}
	}
	return list
}
