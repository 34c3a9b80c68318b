package versioned

import (
	"fmt"
	"regexp"
	"strings"
)

// Files of an array.
const (
	recordName = "versions"        // the record is in two files, so that the loss of one is not that of the array
	secondName = "versions.second" //
	leftPrefix = "left-"           // before the names of files that Rebuild had no use for
	dataExt    = ".fti"
)

var recordNames = []string{recordName, secondName}

func dataName(gen int, version int64, rank int) string {
	return fmt.Sprintf("g%d-v%d-r%d%s", gen, version, rank, dataExt)
}

// dataRE matches what dataName makes; isData is all that may be.
var dataRE = regexp.MustCompile(`^g\d+-v\d+-r\d+\.fti$`)

func isData(name string) bool { return strings.HasSuffix(name, dataExt) && name[0] == 'g' }
