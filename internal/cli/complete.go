package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/subfile"
)

// CompletePaths completes paths like a shell, with one difference: all files of a dataset are completed to the name of the
// dataset. Often no file has that name.
func CompletePaths(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	dir, begun := filepath.Split(typed)
	at := dir
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			at = filepath.Join(home, rest)
		}
	}
	if at == "" {
		at = "."
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var list []string
	baseOf := subfile.BaseAmong(entries)
	for _, e := range entries {
		name := e.Name()
		info, err := os.Stat(filepath.Join(at, name)) // follows links
		isDir := err == nil && info.IsDir()
		// complete the name of a subfile only if the user has typed more than the name of the dataset
		if base := baseOf(name); !isDir && !strings.HasPrefix(begun, base+".") {
			name = base
		}
		if !strings.HasPrefix(name, begun) || begun == "" && strings.HasPrefix(name, ".") {
			continue
		}
		if isDir {
			name += string(filepath.Separator)
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		list = append(list, dir+name)
	}
	slices.Sort(list)
	return slices.Compact(list), directive
}

// CompleteArguments sets the completion of each verb below cmd: paths if the verb takes paths, otherwise none. It does not change
// a verb's own completion.
func CompleteArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		CompleteArguments(sub)
	}
	if cmd.HasSubCommands() || len(cmd.ValidArgs) > 0 || cmd.ValidArgsFunction != nil {
		return
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	for _, word := range strings.Fields(cmd.Use)[1:] {
		for _, kind := range []string{"PATH", "FILE", "DATASET", "ARRAY", "STORE", "PREFIX", "CONTROL", "DIR", "IN", "A"} {
			if strings.TrimSuffix(strings.Trim(word, "[]"), "...") == kind {
				cmd.ValidArgsFunction = CompletePaths
			}
		}
	}
}
