package bench

import (
	"testing"

	"blobio/blob"
)

// TestReused checks that reused data are lent only until the next flush, and that the records repeat.
func TestReused(t *testing.T) {
	j := Job{Case: "G", Ranks: 2, Records: 3, Distinct: 1, Maps: MapSource{Cells: 120, Levels: 4}}
	task, err := j.load()
	if err != nil {
		t.Fatal(err)
	}
	if o := task.options(blob.VariableCentric); o.Retain != blob.LendUntilFlush {
		t.Errorf("lent as %v", o.Retain)
	}
	d, err := task.fill(0)
	if err != nil {
		t.Fatal(err)
	}
	for v := range d {
		if len(d[v]) != 1 {
			t.Fatalf("%d records of %s in memory", len(d[v]), task.c.Vars[v].Name)
		}
	}
}
