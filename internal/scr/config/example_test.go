package config_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"blobio/internal/scr/config"
)

// The job script, the user's file and the program set parameters; the environment wins.
func Example() {
	prefix, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(prefix)
	const file = `
SCR_FLUSH=10           # of the job script: 5
SCR_CACHE_SIZE=2
SCR_COPY_TYPE=FILE
CKPT=0 INTERVAL=1 TYPE=PARTNER
CKPT=1 INTERVAL=4 TYPE=XOR SET_SIZE=16
`
	if err := os.WriteFile(filepath.Join(prefix, ".scrconf"), []byte(file), 0o644); err != nil {
		log.Fatal(err)
	}
	p, err := config.Load(config.Sources{Dir: prefix, Environ: []string{"SCR_FLUSH=5"}})
	if err != nil {
		log.Fatal(err)
	}
	if _, _, err := p.Config("SCR_CHECKPOINT_SECONDS=600"); err != nil { // by the program
		log.Fatal(err)
	}

	for _, name := range []string{"SCR_FLUSH", "SCR_CACHE_SIZE", "SCR_CHECKPOINT_SECONDS", "SCR_CRC_ON_FLUSH"} {
		v := p.Lookup(name)
		fmt.Printf("%s=%s by the %v\n", name, v.Text, v.Origin.Source)
	}
	list, err := config.DescriptorsOf(p)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range list {
		fmt.Printf("every %d: %s\n", d.Interval, d.Type)
	}
	// Output:
	// SCR_FLUSH=5 by the environment
	// SCR_CACHE_SIZE=2 by the user file
	// SCR_CHECKPOINT_SECONDS=600 by the program
	// SCR_CRC_ON_FLUSH=1 by the default
	// every 1: PARTNER
	// every 4: XOR
}

// A value that makes no sense is an error that says where it was set.
func ExampleValueError() {
	p, err := config.Load(config.Sources{Environ: []string{"SCR_FLUSH=often", "SCR_PREFIX=" + os.TempDir()}})
	if err != nil {
		log.Fatal(err)
	}
	_, err = p.Int("SCR_FLUSH")
	var v *config.ValueError
	if errors.As(err, &v) {
		fmt.Printf("%s is %q by the %v\n", v.Name, v.Value, v.Origin)
	}
	// Output: SCR_FLUSH is "often" by the environment
}
