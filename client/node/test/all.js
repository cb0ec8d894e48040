'use strict';
require('./locks.test');
require('./faults.test');
require('./seen.test');
require('./readme.test');
