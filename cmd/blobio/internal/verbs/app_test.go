package verbs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/base/version"
	"blobio/internal/cli"
)

func TestHelpOfEveryCommand(t *testing.T) {
	e := &cli.Env{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Name() == "help" {
			return
		}
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		out := clitest.Good(t, args...)
		clitest.Holds(t, out, "Usage:", "Examples:", "--no-progress")
		if c.Flags().Lookup("json") != nil && !strings.Contains(out, "JSON: {") {
			t.Errorf("%s does not say what its JSON is", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(verbs.NewRoot(e))
	if out := clitest.Good(t, "--version"); !strings.HasPrefix(out, "blobio "+version.Number+" (") {
		t.Errorf("--version prints %q", out)
	}
	clitest.Holds(t, clitest.Good(t), "Usage:")
}

func TestWrongCommandLines(t *testing.T) {
	dir, canon, variable, _ := clitest.Toys(t)
	text := filepath.Join(dir, "notes.txt")
	clitest.Check(t, os.WriteFile(text, []byte("this is no dataset at all"), 0o666))
	out := filepath.Join(dir, "out.nc")
	for _, c := range []struct {
		words string
		args  string
	}{
		{`unknown command "lss" for "blobio", did you mean ls?`, "lss x"},
		{`unknown command "x" for "blobio decomp"`, "decomp x"},
		{"unknown flag: --foo (see 'blobio ls --help')", "ls --foo x"},
		{"blobio ls needs a dataset", "ls"},
		{"blobio dump needs one dataset", "dump"},
		{"one too many", "dump a b"},
		{"blobio convert needs a dataset and the name of the output", "convert " + canon},
		{"blobio diff needs two datasets", "diff " + canon},
		{"neither this file nor subfile", "ls " + dir + "/none.nc"},
		{"neither this file nor subfile", "check " + dir + "/none.nc"},
		{"not this format", "ls " + text},
		{"not this format", "dump " + text},
		{"not this format", "convert " + text + " " + out},
		{"not a map file or a dataset of blobs", "decomp info " + text},
		{"not a map file or a dataset of blobs", "decomp info " + canon},
		{"neither this file nor subfile", "decomp info " + dir + "/none.nc"},
		{"--precision", "dump -p 99 " + canon},
		{"--layout and --raw cannot be combined", "dump --layout --raw -v T " + variable},
		{"--raw needs one variable", "dump --raw " + variable},
		{"--header prints no values", "dump -h -v T " + variable},
		{"--records and --blob need", "dump --records 1 " + variable},
		{`has no variable "X"`, "dump -v X " + variable},
		{`has no variable "t"; did you mean "T"`, "dump -v t " + variable},
		{`--records "7", want FIRST:END`, "dump --raw -v T --records 7 " + variable},
		{"blob 9 does not exist", "dump --raw -v T --blob 9 " + variable},
		{"is not decomposed", "dump --raw -v time " + variable},
		{"want canonical, variable-centric, process-centric", "convert --to x " + canon + " " + out},
		{"--ranks is for blobs", "convert --ranks 3 " + canon + " " + out},
		{"--format is for a canonical output", "convert --to process-centric --format cdf2 " + variable + " " + out},
		{"has no maps of its own", "convert --to process-centric " + canon + " " + out},
		{"--records", "convert --records 1:9 " + canon + " " + out},
		{"--records", "convert --records x " + canon + " " + out},
		{"want a number of bytes", "convert --memory lots " + canon + " " + out},
		{"--case without --map needs --ranks", "convert --to process-centric --case F_h0 " + canon + " " + out},
		{"is a directory", "convert " + canon + " " + dir},
		{": no directory ", "convert " + canon + " " + dir + "/none/out.nc"},
		{"want finite numbers >= 0", "diff --abs -1 " + canon + " " + canon},
		{"unknown extension of the output", "decomp gen F " + dir + "/f.xyz"},
		{"--cells does not apply to the F case", "decomp gen F --cells 3 " + dir + "/f.nc"},
		{`case "X", want F, G or I`, "decomp gen X " + dir + "/f.nc"},
		{"--ranks 0", "decomp gen F --ranks 0 " + dir + "/f.nc"},
		{"want a name that ends in .png or .svg", "decomp plot " + variable},
		{"no map D9", "decomp plot --map D9 -o " + dir + "/x.png " + variable},
		{"--map \"x\"", "decomp plot --map x -o " + dir + "/x.png " + variable},
		{"--nodes and --ranks-per-node cannot be combined", "replay --nodes 2 --ranks-per-node 3"},
		{"case G has only one history", "replay --case G --history h1"},
		{"--ne does not apply to the G case", "replay --case G --ne 3"},
		{"--slice needs maps of --map", "replay --slice fillers"},
		{"--num-records 0", "replay --num-records 0"},
		{"no arguments", "replay F"},
		{"--nodes 3 is not possible: 4 ranks with 2 on each node need only 2 nodes", "replay --ranks 4 --nodes 3"},
	} {
		clitest.Bad(t, cli.Failed, c.words, strings.Fields(c.args)...)
	}
	if got := clitest.Names(t, dir); got != "notes.txt p toy.nc v" {
		t.Errorf("left behind: %s", got)
	}
}

func TestCompletion(t *testing.T) {
	_, _, variable, process := clitest.Toys(t)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"T\n", []string{"dump", variable, "-v", "T"}},
		{"T,lat\n", []string{"dump", process, "--vars", "T,l"}},
		{"canonical\nvariable-centric\nprocess-centric\n", []string{"convert", "--to", ""}},
		{"check", []string{"ch"}},
	} {
		r := clitest.Blobio(t, append([]string{"__complete"}, c.args...)...)
		if r.Code != 0 || !strings.HasPrefix(r.Out, c.want) {
			t.Errorf("completion of %q: %q, want %q", c.args, r.Out, c.want)
		}
	}
	clitest.Shows(t, "blobio", "completion", "bash")
}

// TestFlagNumbers checks that the error of a numeric flag is in plain words, without terms of Go.
func TestFlagNumbers(t *testing.T) {
	clitest.Bad(t, cli.Failed, `invalid argument "x" for "--workers" flag, want a number (see 'blobio check --help')`, "check", "--workers", "x", "f")
	clitest.Bad(t, cli.Failed, `the number is out of range`, "check", "--workers", "99999999999999999999", "f")
	clitest.Bad(t, cli.Failed, `invalid argument "a\"b" for "--workers" flag, want a number`, "check", "--workers", `a"b`, "f")
}
