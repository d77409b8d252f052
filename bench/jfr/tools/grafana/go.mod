module fathom/bench/grafana

go 1.22

require github.com/grafana/jfr-parser v0.10.0

require golang.org/x/text v0.22.0 // indirect
