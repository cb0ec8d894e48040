'use strict';
require('./locks.test');
require('./faults.test');
require('./readme.test');
