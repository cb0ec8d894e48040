module holdfast/interop

go 1.26.0

require github.com/gomodule/redigo v1.9.3
